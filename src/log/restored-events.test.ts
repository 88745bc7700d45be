import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../test/log/check-history.ts'
import { callPhase } from './call-phase.ts'
import { encode } from './codec.ts'
import { tentative } from './decide.ts'
import { foldEvents } from './fold-events.ts'
import { phaseOf } from './fsm-state.ts'
import { fittingSnapshot, readSnapshot } from './read-snapshot.ts'
import { restoredEvents } from './restored-events.ts'
import type { Snapshot, SnapshotCall, SnapshotMessage, SnapshotPending, SnapshotTurn } from './snapshot.ts'
import { openTurn } from './state.ts'
import { unrepeatable } from './superseded.ts'
import { checkNewEvent } from './validate-event.ts'

const fixture = (version: number): Snapshot => {
  const url = new URL(`../../test/fixtures/snapshots/version-${version}.json`, import.meta.url)
  const read = readSnapshot(JSON.parse(readFileSync(url, 'utf8')))
  if (!read.ok) throw new Error(read.problem)
  return read.snapshot
}

function restore(snapshot: Snapshot, now = 0) {
  let ids = 0
  const events = restoredEvents(snapshot, {
    who: 'ann',
    now,
    newId: () => `new-${++ids}`,
    fileOf: ({ mediaType }) => ({ type: 'file', mediaType, data: 'https://example.com/a' }),
    exposed: ['todos'],
  })
  for (const event of events) checkNewEvent(event)
  // No member without a value.
  expect(events).toStrictEqual(JSON.parse(JSON.stringify(events)))
  const log = tentative(events, 0)
  return { events, log, state: foldEvents(log, undefined, (_, why) => expect.unreachable(why)) }
}

const shape = ({ events }: ReturnType<typeof restore>) => events.map(({ type }) => type)
const said = (text: string, turnId = 't'): SnapshotMessage => ({
  role: 'user',
  turnId,
  at: 7,
  parts: [{ type: 'text', text }],
})
const call = (more: Partial<SnapshotCall>): SnapshotCall => ({
  ...{ type: 'call', callId: 'old', name: 'refund', args: { n: 1 }, executor: 'server', status: 'ok', result: 1 },
  ...more,
})
const pending: SnapshotPending = {
  ...{ kind: 'approval', prompt: 'Sure?', expiresAt: null },
  ...{ ifInterrupted: 'ask', timeoutMs: 9, expiresInMs: 60 },
}
const wrote = (parts: SnapshotMessage['parts'], more: Partial<SnapshotMessage> = {}): SnapshotMessage => ({
  ...{ role: 'assistant', turnId: 't', at: 8, parts },
  ...more,
})
const snapshot = (messages: readonly SnapshotMessage[], ...turns: SnapshotTurn[]): Snapshot => ({
  ...{ version: 3, seq: 9, phase: 'idle', title: null, summary: null, messages },
  turns: turns.length > 0 ? turns : [{ turnId: 't', status: 'completed', reason: null }],
})
const open: SnapshotTurn = { turnId: 't', status: 'open', reason: null, options: { maxSteps: 3 } }

describe('a snapshot becomes a log', () => {
  test('of ordinary events after a mark, which says how far they reach', () => {
    const restored = restore(fixture(3))
    expect(shape(restored)).toEqual([
      ...['seeded', 'restored', 'user_msg', 'assistant_msg', 'turn_ended', 'user_msg', 'assistant_msg'],
      ...['tool_call', 'tool_started', 'tool_result', 'tool_call', 'suspension'],
      ...['tool_call', 'tool_started', 'tool_result', 'user_msg'],
    ])
    expect(restored.events[1]).toEqual({ type: 'restored', content: { version: 3, seq: 21, through: 16 } })
    expect(restored.state).toMatchObject({
      title: 'A broken lamp',
      seed: { summary: 'Ann ordered a lamp.', messages: [] },
    })
  })

  test.each([1, 2])('of version %i: plain messages, all of it ended', (version) => {
    const { log, state } = restore(fixture(version))
    checkHistory(log)
    expect(phaseOf(state)).toBe('idle')
    expect(state.turns.length).toBeGreaterThan(0)
    expect(state.turns.every(({ items }) => items[0]!.type === 'user')).toBe(true)
  })

  test('with new ids, the old id of each call, the old times, no usage and the person who restores it', () => {
    const { state } = restore(fixture(3))
    const [first, second] = state.turns
    expect(first).toMatchObject({ turnId: 'new-1', end: { status: 'cancelled' } })
    expect(first!.items).toMatchObject([
      { type: 'user', at: 1_760_000_000_000, restoredAt: 1_760_000_000_000, who: 'ann' },
      { type: 'assistant', at: 1_760_000_001_000, status: 'cancelled', usage: {} },
    ])
    expect(second!.calls.map(({ callId, restoredFrom }) => [callId.slice(0, 4), restoredFrom?.slice(-1)])).toEqual([
      ['new-', '1'],
      ['new-', '2'],
      ['new-', '3'],
    ])
  })
})

describe('a turn', () => {
  test('with a pending call stays open with its options, and those after it stay queued', () => {
    const { state } = restore(fixture(3))
    expect(phaseOf(state)).toBe('awaiting_input')
    expect(openTurn(state)).toMatchObject({ options: { maxSteps: 20, maxParallelCalls: 8 } })
    expect(state.turns.map(({ opened, end }) => [opened, end?.status])).toEqual([
      [true, 'cancelled'],
      [true, undefined],
      [false, undefined],
    ])
  })

  test('that ran has failed: it may have ended elsewhere', () => {
    const queued: SnapshotTurn = { turnId: 'q', status: 'queued', reason: null }
    const { state, log } = restore(snapshot([said('Hi'), said('And?', 'q')], open, queued))
    checkHistory(log)
    expect(state.turns.map(({ opened, end }) => [opened, end?.status, end?.reason])).toEqual([
      [true, 'failed', 'interrupted'],
      [true, 'failed', 'interrupted'],
    ])
  })

  test('that waits before a turn that has ended is no log of ours, and has failed', () => {
    const ended: SnapshotTurn = { turnId: 'e', status: 'halted', reason: 'max_steps' }
    const asked = wrote([call({ status: 'pending', pending })])
    const { state, log } = restore(snapshot([said('Hi'), asked, said('Bye', 'e')], open, ended))
    checkHistory(log)
    expect(state.turns.map(({ end }) => end?.reason)).toEqual(['interrupted', 'max_steps'])
  })

  test('that begins with an answer begins with an empty message', () => {
    const { state } = restore(snapshot([wrote([{ type: 'text', text: 'Hello.' }])]))
    expect(state.turns[0]!.items).toMatchObject([{ type: 'user', message: { parts: [] } }, { type: 'assistant' }])
  })

  test('without messages is left out', () => {
    expect(shape(restore(snapshot([])))).toEqual(['seeded', 'restored'])
  })
})

describe('a call', () => {
  const restored = (more: Partial<SnapshotCall>, turn = open, now = 0) => {
    const { state } = restore(snapshot([said('Hi'), wrote([call(more)])], turn), now)
    return state.turns[0]!.calls[0]!
  }

  test.each<[string, Partial<SnapshotCall>, object]>([
    ['that returned', {}, { ok: true, result: 1 }],
    ['that failed', { status: 'error', result: 'no', userFacing: true }, { ok: false, error: 'no', userFacing: true }],
    ['that failed without a text', { status: 'error', result: { a: 1 } }, { ok: false, error: '{"a":1}' }],
    ['that was interrupted', { status: 'error', result: 'x', outcome: 'ran' }, { ok: false, outcome: 'ran' }],
    ['that ran', { status: 'open', result: null }, { ok: false, outcome: 'unknown' }],
    ['that waits, but does not say for what', { status: 'pending', result: null }, { ok: false, outcome: 'unknown' }],
  ])('%s has ended', (_, more, end) => {
    expect(callPhase(restored(more))).toMatchObject({ type: 'ended', end })
  })

  test('that waits in a turn that has ended cannot be answered', () => {
    const ended: SnapshotTurn = { turnId: 't', status: 'failed', reason: 'model_failed' }
    expect(callPhase(restored({ status: 'pending', pending }, ended))).toMatchObject({ end: { outcome: 'unknown' } })
  })

  test('that waits for approval waits again, with what it continues with', () => {
    const asked = restored({ status: 'pending', result: null, pending })
    expect(asked).toMatchObject({ gated: true, ifInterrupted: 'ask', timeoutMs: 9, expiresInMs: 60, prompt: 'Sure?' })
    expect(asked.rounds).toMatchObject([
      { round: 1, kind: 'approval', prompt: 'Sure?', schema: { type: 'boolean' }, expiresInMs: null, resolution: null },
    ])
  })

  test.each([
    ['elicitation', 'human', { type: 'string' }],
    ['client_exec', 'client', { anyOf: [{ properties: { result: { type: 'string' } } }, {}] }],
  ] as const)('that waits for %s waits again, without another approval', (kind, executor, schema) => {
    const asked = restored({
      ...{ executor, status: 'pending', pending: { ...pending, kind, schema: { type: 'string' } } },
    })
    expect(asked.gated).toBe(false)
    expect(asked.rounds).toMatchObject([{ kind, schema }])
  })

  test('that waits for a decision about its interruption counts as started', () => {
    const asked = restored({ status: 'pending', pending: { ...pending, kind: 'recovery' } })
    expect(asked).toMatchObject({ attempts: 1, gated: false, rounds: [{ kind: 'recovery' }] })
  })

  test.each<[string, Partial<SnapshotCall>, object]>([
    ['was started', { started: 'ask' }, { attempts: 1, ifInterrupted: 'ask' }],
    ['was never started', { started: null, status: 'error' }, { attempts: 0 }],
    ['does not say whether it was started', { status: 'error' }, { attempts: 1, ifInterrupted: 'report' }],
    ['was left to a page', { started: 'report', executor: 'client' }, { attempts: 0, ifInterrupted: 'report' }],
    ['was put to a person', { executor: 'human' }, { attempts: 0 }],
  ])('that %s comes back like that', (_, more, expected) => {
    const { state, log } = restore(snapshot([said('Hi'), wrote([call(more)])]))
    checkHistory(log)
    const { turns } = state
    expect(turns[0]!.calls[0]).toMatchObject(expected)
    const mustBeForced = more.started !== null && more.executor !== 'human'
    expect(unrepeatable(turns)).toHaveLength(mustBeForced ? 1 : 0)
  })

  test('of a replaced turn stays among what was done, and needs force only where it was started', () => {
    const replaced = [call({ started: 'report' }), call({ callId: 'b', executor: 'human', started: null })]
    const turn: SnapshotTurn = { turnId: 't', status: 'completed', reason: null, replaced }
    const { state } = restore(snapshot([said('Hi')], turn))
    expect(state.turns[0]!.replaced!.calls.map(({ restoredFrom }) => restoredFrom)).toEqual(['old', 'b'])
    expect(unrepeatable(state.turns).map(({ restoredFrom }) => restoredFrom)).toEqual(['old'])
  })

  test('that ends its turn does so again, once what waits beside it is answered', () => {
    const parts = [call({ halts: 'enough' }), call({ status: 'pending', pending })]
    const { state, events } = restore(snapshot([said('Hi'), wrote(parts)], open))
    expect(state.turns[0]).toMatchObject({ halt: { reason: 'enough' }, end: null })
    expect(events.map(({ type }) => type)).toContain('halted_by')
    const ended: SnapshotTurn = { turnId: 't', status: 'halted', reason: 'enough' }
    expect(shape(restore(snapshot([said('Hi'), wrote(parts)], ended)))).not.toContain('halted_by')
  })

  test('keeps its deadline: what is left of it, and at least a moment', () => {
    const until = (expiresAt: number) => ({ status: 'pending' as const, pending: { ...pending, expiresAt } })
    expect(restored(until(5_000), open, 2_000).rounds[0]!.expiresInMs).toBe(3_000)
    expect(restored(until(5_000), open, 9_000).rounds[0]!.expiresInMs).toBe(1)
  })

  test('in a message that was cut off, or that a person is said to have written, is not one', () => {
    const cut = restore(snapshot([said('Hi'), wrote([call({})], { cutOff: 'failed' })]))
    expect(shape(cut)).not.toContain('tool_call')
    const forged = restore(snapshot([{ ...said('Hi'), parts: [call({})] }]))
    expect(forged.state.turns[0]!.items).toMatchObject([{ message: { parts: [] } }])
  })
})

test('a withheld message comes back after its mark, without parts and object', () => {
  const hidden = wrote([{ type: 'text', text: 'secret' }], { withheld: 'guard', object: 1 })
  const { events, log } = restore(snapshot([said('Hi'), hidden], { turnId: 't', status: 'halted', reason: null }))
  checkHistory(log)
  expect(events.slice(3, 5)).toMatchObject([
    { type: 'withheld', content: { hook: 'guard' } },
    { type: 'assistant_msg', content: { parts: [] } },
  ])
  expect(JSON.stringify(events)).not.toContain('secret')
})

describe('what is too much', () => {
  const turns = (count: number, text: string) => {
    const names = Array.from({ length: count }, (_, n) => `t${n}`)
    return snapshot(
      names.map((name) => said(text, name)),
      ...names.map((turnId): SnapshotTurn => ({ turnId, status: 'completed', reason: null })),
    )
  }

  test.each([
    ['parts', turns(6_000, 'x'), 5_000],
    ['characters', turns(8, 'x'.repeat(1_000_000)), 6],
  ])('in %s leaves out the oldest turns', (_, given, kept) => {
    const fitting = fittingSnapshot(given)
    expect(fitting.turns).toHaveLength(kept)
    expect(fitting.turns.at(-1)).toEqual(given.turns.at(-1))
    expect(fitting.messages.map(({ turnId }) => turnId)).toEqual(fitting.turns.map(({ turnId }) => turnId))
  })

  test('of a summary is cut, and what fits stays as it is', () => {
    const given = { ...turns(2, 'x'), summary: 'y'.repeat(50_000) }
    expect(fittingSnapshot(given)).toEqual({ ...given, summary: 'y'.repeat(48_000) })
  })
})

test('every event of a snapshot is written out in full, and nothing more', () => {
  const asks = call({ callId: 'asked', status: 'pending', result: null, pending: { ...pending, expiresAt: 50 } })
  const given = snapshot(
    [
      { ...said('Hi', 't0'), data: { page: 1 } },
      wrote([{ type: 'text', text: 'Hello' }], { turnId: 't0', object: { a: 1 } }),
      said('Refund', 't'),
      wrote([{ type: 'text', text: 'Sure' }, call({}), asks]),
    ],
    { turnId: 't0', status: 'completed', reason: null },
    open,
  )
  expect(restore(given, 20).events.map(({ type, content }) => `${type} ${encode(content)}`)).toEqual([
    'seeded {"state":{"version":3,"seq":9,"phase":"idle","title":null,"summary":null,"turns":[],"messages":[]}}',
    'restored {"version":3,"seq":9,"through":12}',
    'user_msg {"turnId":"new-1","message":{"parts":[{"type":"text","text":"Hi"}]},"options":{},"who":"ann","data":{"page":1},"restoredAt":7}',
    'assistant_msg {"turnId":"new-1","messageId":"new-2","seen":3,"parts":[{"type":"text","text":"Hello"}],"model":{"provider":"restored","modelId":"snapshot"},"usage":{},"finishReason":"stop","status":"complete","object":{"a":1},"restoredAt":8}',
    'turn_ended {"turnId":"new-1","status":"completed","reason":null}',
    'user_msg {"turnId":"new-3","message":{"parts":[{"type":"text","text":"Refund"}]},"options":{"maxSteps":3},"who":"ann","restoredAt":7}',
    'assistant_msg {"turnId":"new-3","messageId":"new-4","seen":6,"parts":[{"type":"text","text":"Sure"},{"type":"call","callId":"new-5"},{"type":"call","callId":"new-6"}],"model":{"provider":"restored","modelId":"snapshot"},"usage":{},"finishReason":"tool-calls","status":"complete","restoredAt":8}',
    'tool_call {"turnId":"new-3","callId":"new-5","providerCallId":"new-5","name":"refund","args":{"n":1},"executor":"server","restoredFrom":"old","gated":false,"ifInterrupted":"report","timeoutMs":null,"expiresInMs":null}',
    'tool_started {"callId":"new-5","attempt":1}',
    'tool_result {"callId":"new-5","ok":true,"result":1}',
    'tool_call {"turnId":"new-3","callId":"new-6","providerCallId":"new-6","name":"refund","args":{"n":1},"executor":"server","restoredFrom":"asked","gated":true,"ifInterrupted":"ask","timeoutMs":9,"expiresInMs":60,"prompt":"Sure?"}',
    'suspension {"callId":"new-6","round":1,"kind":"approval","prompt":"Sure?","expiresInMs":30,"schema":{"type":"boolean"}}',
  ])
})
