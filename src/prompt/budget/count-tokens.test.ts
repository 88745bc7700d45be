import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../define/define-tool.ts'
import { CallIds } from '../render/call-ids.ts'
import { countMessage, countParts, countTools } from './count-tokens.ts'

const letters = (text: string) => text.length

test('a part of a user costs its text, or what a file costs, and a little around it', () => {
  expect(countParts([], letters)).toBe(0)
  expect(countParts([{ type: 'text', text: 'abc' }], letters)).toBe(4 + 3)
  const file = { type: 'file' as const, mediaType: 'image/png', data: 'https://a.test/b.png' }
  expect(countParts([{ type: 'text', text: 'abc' }, file], letters)).toBe(4 + 3 + 4 + 800)
})

test('a message costs all its parts, and a little around it and each', () => {
  expect(countMessage({ role: 'system', content: 'abc' }, letters)).toBe(4 + 3)
  const message = (...content: object[]) => countMessage({ role: 'assistant', content } as never, letters)
  expect(message()).toBe(4)
  expect(message({ type: 'text', text: 'abc' }, { type: 'reasoning', text: 'de' })).toBe(4 + 4 + 3 + 4 + 2)
  expect(message({ type: 'tool-call', toolName: 'find', input: { a: 1 } })).toBe(4 + 4 + 4 + '{"a":1}'.length)
  expect(message({ type: 'tool-call', toolName: 'find', input: undefined })).toBe(4 + 4 + 4)
  expect(message({ type: 'tool-result', output: { type: 'text', value: 'abc' } })).toBe(4 + 4 + 3)
  expect(message({ type: 'tool-result', output: { type: 'json', value: { a: 1 } } })).toBe(4 + 4 + 7)
  expect(message({ type: 'tool-result', output: { type: 'execution-denied' } })).toBe(4 + 4)
  expect(message({ type: 'file', data: 'x' })).toBe(4 + 4 + 800)
})

test('tools cost their names, descriptions and schemas, counted once for each tokenizer', () => {
  const find = defineTool({ name: 'find', description: 'Finds it', input: z.object({}), run: () => 1 })
  const schema = JSON.stringify((find as { inputJsonSchema: unknown }).inputJsonSchema)
  const tools = [find]
  let counts = 0
  const counting = (text: string) => {
    counts += 1
    return text.length
  }
  const tokens = 4 + 'find'.length + 'Finds it'.length + schema.length
  expect([countTools(tools, counting), countTools(tools, counting), counts]).toEqual([tokens, tokens, 3])
  expect(countTools(tools, () => 1)).toBe(4 + 3)
  expect(countTools([], letters)).toBe(0)
})

test('a call keeps the id of its provider unless it was used, is too long or odd; then it has ours', () => {
  const ids = new CallIds()
  const take = (providerCallId: string, callId = 'ours') => ids.take({ callId, providerCallId })
  expect([take('p1'), take('p1'), take('p1')]).toEqual(['p1', 'ours', 'ours_2'])
  expect([take('x'.repeat(40)), take('x'.repeat(41), 'a'), take('', 'b'), take('p.1', 'c.d')]).toEqual([
    'x'.repeat(40),
    'a',
    'b',
    'c_d',
  ])
  expect(take('', 'y'.repeat(50))).toBe('y'.repeat(36))
})

test('ids of what stands before in the prompt are used, and stay so', () => {
  const before = new CallIds()
  before.take({ callId: 'c1', providerCallId: 'p1' })
  const ids = new CallIds(before)
  expect(ids.take({ callId: 'c2', providerCallId: 'p1' })).toBe('c2')
  expect([ids.claim('p1'), ids.claim('p2'), ids.claim('p2'), ids.claim('')]).toEqual([false, true, false, false])
  expect(before.claim('p2')).toBe(true)
})
