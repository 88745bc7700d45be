import { describe, expect, test } from 'vitest'
import { TransformFailedError } from '../base/errors/model-errors.ts'
import type { StreamChunk } from '../define/language-model.ts'
import { transformChunk } from './stream-attempt.ts'

const text: StreamChunk = { type: 'text_delta', id: 'text-0', delta: 'hello' }
const input: StreamChunk = { type: 'tool_input_delta', callId: 'c1', name: 'refund', delta: '{' }

describe('transformChunk', () => {
  test('without a transformer a chunk stays as it is', () => {
    expect(transformChunk(text, null)).toEqual(text)
  })

  test('a transformer changes what a chunk says', () => {
    expect(transformChunk(text, (chunk) => ({ ...chunk, delta: chunk.delta.toUpperCase() }))).toEqual({
      ...text,
      delta: 'HELLO',
    })
    expect(transformChunk(input, (chunk) => ({ ...chunk, delta: '[' }))).toEqual({ ...input, delta: '[' })
  })

  test('what it adds to a chunk is left out', () => {
    expect(transformChunk(text, (chunk) => ({ ...chunk, extra: 1 }))).toEqual(text)
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a string', 'hello'],
    ['a list', [text]],
    ['a chunk of another type', { ...text, type: 'reasoning_delta' }],
    ['a chunk of an unknown type', { ...text, type: 'shout' }],
    ['a chunk of another block', { ...text, id: 'text-1' }],
    ['a chunk without text', { type: 'text_delta', id: 'text-0' }],
    ['a chunk whose text is a number', { ...text, delta: 7 }],
    ['an empty chunk', { ...text, delta: '' }],
  ])('a chunk turned into %s is dropped', (_, result) => {
    expect(transformChunk(text, () => result)).toBeNull()
  })

  test('a call cannot be turned into another', () => {
    expect(transformChunk(input, (chunk) => ({ ...chunk, callId: 'c2' }))).toBeNull()
    expect(transformChunk(input, (chunk) => ({ ...chunk, name: 'delete' }))).toBeNull()
  })

  test.each([new Error('oops'), undefined, 'oops'])(
    'a transformer that throws %s is told apart from the provider',
    (thrown) => {
      const transform = (): never => {
        throw thrown
      }
      expect(() => transformChunk(text, transform)).toThrow(TransformFailedError)
    },
  )
})
