import { expect, test } from 'vitest'
import { systemScope } from './scope.ts'
import { createTurn, inject, isTurn, turnOf } from './turn.ts'

const scope = systemScope()

test('a turn without a scope is refused', () => {
  expect(() => createTurn({} as never)).toThrow(/'scope' is missing/)
  expect(() => createTurn(undefined as never)).toThrow(/'scope' is missing/)
})

test('an unknown key is refused and the known ones are listed', () => {
  expect(() => createTurn({ scope, user: 'ada' } as never)).toThrow(
    /unknown key 'user' \(known: scope, agent, conversationId, turnId, step, turnRef/,
  )
})

test('a turn has defaults for everything but its scope', () => {
  const turn = createTurn({ scope })
  expect(turn).toMatchObject({
    scope,
    agent: null,
    conversationId: null,
    turnId: null,
    step: null,
    turnRef: null,
    context: [],
    injections: [],
    callId: null,
    assistantMessage: null,
  })
  expect(turn.signal.aborted).toBe(false)
})

test('reporting progress outside a server tool does nothing', () => {
  expect(createTurn({ scope }).reportProgress({ percent: 50 })).toBeUndefined()
})

test('a turn and the messages it shows cannot be changed', () => {
  const userMessage = { parts: [{ type: 'text' as const, text: 'hello' }] }
  const turn = createTurn({ scope, userMessage })
  expect(() => Object.assign(turn, { scope: 'other' })).toThrow(TypeError)
  expect(() => (turn.userMessage!.parts as unknown[]).push('more')).toThrow(TypeError)
  expect(() => Object.assign(turn.userMessage!.parts[0]!, { text: 'bye' })).toThrow(TypeError)
  expect(() => (turn.injections as unknown[]).push('more')).toThrow(TypeError)
})

test('inject adds parts to a new turn and leaves the old one alone', () => {
  const turn = createTurn({ scope, turnRef: 't:0' })
  const file = { type: 'file' as const, mediaType: 'image/png', data: 'https://example.com/a.png' }
  const injected = inject(inject(turn, 'first'), [{ type: 'text', text: 'second' }, file])
  expect(injected.injections).toEqual([{ type: 'text', text: 'first' }, { type: 'text', text: 'second' }, file])
  expect(injected.turnRef).toBe('t:0')
  expect(turn.injections).toEqual([])
})

test('injecting an empty text adds nothing', () => {
  expect(inject(createTurn({ scope }), ['', { type: 'text', text: '' }] as never).injections).toEqual([])
})

test.each([
  [7],
  [null],
  [{ type: 'text' }],
  [{ type: 'image', url: 'x' }],
  [[{ type: 'file', data: 'x' }]],
  [{ type: 'file', mediaType: 'a/b', data: { blob: 'short' } }],
  [{ type: 'file', mediaType: '', data: 'https://example.com' }],
  [{ type: 'text', text: 'x', providerMetadata: 'x' }],
  [{ type: 'text', text: 'x', providerMetadata: { a: new Map() } }],
])('injecting %j is refused', (parts) => {
  expect(() => inject(createTurn({ scope }), parts as never)).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/invalid_/) }),
  )
})

test('what is not known of a part is left out', () => {
  const part = { type: 'text', text: 'x', colour: 'red' }
  expect(inject(createTurn({ scope }), part as never).injections).toEqual([{ type: 'text', text: 'x' }])
})

test('a copy of a turn made by hand is not a turn', () => {
  const turn = createTurn({ scope })
  expect(isTurn(turn)).toBe(true)
  expect(isTurn({ ...turn })).toBe(false)
})

test('the context is made when it is first asked for, once, also for the turns that were made from this one', () => {
  let made = 0
  const turn = turnOf({
    scope,
    context: () => {
      made += 1
      return [{ role: 'user', content: 'hello' }]
    },
  })
  const [copy, injected] = [turnOf({ ...turn, callId: 'c1' }), inject(turn, 'more')]
  expect(made).toBe(0)
  expect(copy.context).toEqual([{ role: 'user', content: 'hello' }])
  expect([turn.context, injected.context]).toEqual([copy.context, copy.context])
  expect(made).toBe(1)
})

test('a context that a test gives is there, and replaces the one before', () => {
  const turn = createTurn({ scope, context: [{ role: 'user', content: 'one' }] })
  expect(turn.context).toEqual([{ role: 'user', content: 'one' }])
  expect(createTurn({ ...turn, context: [] }).context).toEqual([])
})
