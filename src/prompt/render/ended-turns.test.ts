import { describe, expect, test } from 'vitest'
import { called, ended, replied, resolved, said, stateOf, succeeded, suspended } from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import type { UserItem } from '../../log/state.ts'
import { toolResult } from '../../log/validate-event.ts'
import { noReduction } from '../budget/reduce.ts'
import { blobsNeeded, renderContext } from './render-context.ts'
import { EndedTurns } from './render-turn.ts'

const model = { provider: 'test', modelId: 'one' }
const blob = { blob: 'hash', mediaType: 'image/png', size: 3 }
const shows: NewEvent = {
  type: 'user_msg',
  content: {
    turnId: 't2',
    message: { parts: [{ type: 'file', mediaType: 'image/png', data: blob }] },
    options: {},
    who: 'ann',
  },
}
const state = stateOf([
  ...[said('t1'), replied('t1', 'm1', 1), ended('t1')],
  ...[shows, replied('t2', 'm2', 4), ended('t2')],
  said('t3'),
])

test('a file of an ended turn is asked for and shown in every prompt, with the bytes that were read for it', () => {
  const remembered = new EndedTurns()
  for (const byte of [1, 2]) {
    expect(blobsNeeded(state, noReduction, [], remembered)).toEqual([blob])
    const blobs = new Map([['hash', Uint8Array.of(byte)]])
    const prompt = renderContext(state, { system: '', model, blobs, ended: remembered })
    expect(prompt).toEqual(renderContext(state, { system: '', model, blobs }))
  }
})

test('turns that have ended are rendered once for prompts that only grow', () => {
  const remembered = new EndedTurns()
  const turns = state.turns.slice(0, 1)
  expect(remembered.countWithoutFiles(turns)).toBe(0)
  expect(remembered.of(turns, model, noReduction.stubbed).count).toBe(1)
  expect(remembered.countWithoutFiles(turns)).toBe(1)
  // The second shows a file.
  expect(remembered.of(state.turns, model, noReduction.stubbed).count).toBe(1)
  const [first] = remembered.of(turns, { provider: 'other', modelId: 'two' }, noReduction.stubbed).messages
  expect(first).toEqual({ role: 'user', content: [{ type: 'text', text: 'for t1' }] })
})

test('of turns that are others, or fewer, nothing is known', () => {
  const remembered = new EndedTurns()
  const turns = state.turns.slice(0, 1)
  remembered.of(turns, model, noReduction.stubbed)
  const others = stateOf([said('t1'), replied('t1', 'm1', 1), ended('t1')]).turns
  expect([remembered.countWithoutFiles(others), remembered.countWithoutFiles([])]).toEqual([0, 0])
  expect(remembered.countWithoutFiles(state.turns)).toBe(1)
})

describe('what is done to a prompt', () => {
  const parts = [
    { type: 'reasoning' as const, text: 'hm', providerMetadata: { test: { signature: ['s'] } } },
    { type: 'provider_call' as const, providerCallId: 'p1', name: 'search', args: { words: ['a'] } },
    {
      type: 'provider_result' as const,
      providerCallId: 'p1',
      name: 'search',
      result: { hits: [{ id: 1 }] },
      isError: false,
    },
    ...['c1', 'c2', 'c3'].map((callId) => ({ type: 'call' as const, callId })),
  ]
  const turn = (): NewEvent[] => [
    said('t1'),
    replied('t1', 'm1', 1, { parts, model }),
    called('c1', { args: 'not an object' }),
    called('c2', { args: { lines: [{ cents: 5 }], ['__proto__']: { odd: [1] } } }),
    ...[called('c3', { gated: true }), suspended('c3', 'approval')],
    resolved('c3', 'approval', 'resolved', { edited: { before: { cents: 5 }, after: { cents: 6 } } }),
    toolResult({ callId: 'c1', ok: true, result: { broken: ['\ud800'] } }),
    toolResult({ callId: 'c2', ok: true, result: { rows: [{ id: 1 }] } }),
    succeeded('c3'),
  ]

  test.each([
    ['an ended', [...turn(), ended('t1'), said('t2')]],
    ['the open', turn()],
  ])('of %s turn reaches neither the next prompt nor the log', (_, events) => {
    const state = stateOf(events)
    const untouched = structuredClone(state)
    const remembered = new EndedTurns()
    const render = () => renderContext(state, { system: '', model, ended: remembered })
    const expected = structuredClone(render())
    for (let time = 0; time < 2; time++) {
      const prompt = render()
      expect(prompt).toEqual(expected)
      spoil(prompt)
      expect(prompt).toEqual([])
    }
    expect(state).toEqual(untouched)
  })
})

test('a turn that could not be rendered leaves no trace in the next prompt', () => {
  const first = [said('t0'), replied('t0', 'm0', 1), ended('t0')]
  const calls = [replied('t1', 'm1', 4, { calls: ['c1'] }), called('c1'), succeeded('c1')]
  const whole = stateOf([...first, said('t1'), ...calls, said('t1'), ended('t1'), said('t2')])
  let reads = 0
  const last: UserItem = {
    ...(whole.turns[1]!.items.at(-1) as UserItem),
    get message() {
      reads += 1
      if (reads === 2) throw new RangeError('the stack is full')
      return { parts: [{ type: 'text' as const, text: 'go on' }] }
    },
  }
  const [before, turn, open] = whole.turns
  const state = { ...whole, turns: [before!, { ...turn!, items: [...turn!.items.slice(0, -1), last] }, open!] }
  const remembered = new EndedTurns()
  expect(remembered.of([before!], model, noReduction.stubbed).count).toBe(1)
  const render = (kept?: EndedTurns) => renderContext(state, { system: '', model, ...(kept ? { ended: kept } : {}) })
  expect(() => render(remembered)).toThrow(RangeError)
  expect(render(remembered)).toEqual(render())
})

/** As deep as there is something to change. Throws where that is frozen. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value) as (keyof typeof value)[]) {
    spoil(value[key])
    delete value[key]
  }
  if (Array.isArray(value)) value.length = 0
}
