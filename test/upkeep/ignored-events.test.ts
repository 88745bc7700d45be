import { expect, test } from 'vitest'
import type { NewEvent } from '../../src/log/events.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import {
  called,
  cancelled,
  changed,
  ended,
  regenerated,
  replied,
  resolved,
  said,
  started,
  succeeded,
} from '../log/story.ts'

/** What the doctor says about a log, written as outsiders may. */
async function findingsIn(events: readonly NewEvent[]): Promise<Finding[]> {
  const store = memoryStore()
  await store.commit('c1', { events, conversation: { agent: 'a' } })
  const findings: Finding[] = []
  await examineStore(store, { onFinding: (finding) => void findings.push(finding) })
  await store.close()
  return findings.filter(({ code }) => code === 'event_ignored')
}

const turns = Array.from({ length: 40 }, (_, index): NewEvent[] => {
  const [turnId, callId, messageId] = [`t${index}`, `c${index}`, `m${index}`]
  return [
    said(turnId),
    replied(turnId, messageId, 0, { calls: [callId] }),
    called(callId, { turnId }),
    succeeded(callId),
    ended(turnId),
  ]
}).flat()

test('what names nothing in the log is told of, with its place and why', async () => {
  const found = await findingsIn([...turns, succeeded('c99'), ended('t99'), regenerated('m99'), cancelled('t99')])
  expect(found.map(({ problem }) => problem)).toEqual([
    "event 201 (tool_result) names call 'c99', which is not in the log before it",
    "event 202 (turn_ended) names turn 't99', which is not in the log before it",
    "event 203 (regeneration) names message 'm99', which is not in the log before it",
    "event 204 (cancel_requested) names turn 't99', which is not in the log before it",
  ])
  expect(found[0]).toMatchObject({ severity: 'fault', isDerived: false, conversation: 'c1' })
})

test('what comes late, of turns that ended long ago, is none of it', async () => {
  expect(await findingsIn([...turns, resolved('c0', 'approval'), cancelled('t1'), regenerated('m2')])).toEqual([])
})

test('a mark that withholds a message which never came is told of', async () => {
  const mark: NewEvent = { type: 'withheld', content: { messageId: 'm9', hook: 'guard' } }
  const found = await findingsIn([said('t1'), mark, ended('t1')])
  expect(found.map(({ problem }) => problem)).toEqual(["message 'm9' is withheld, and never came"])
})

test('state that was set by a call which is not there, or too late, or that is too large, is told of', async () => {
  const found = await findingsIn([
    said('t1'),
    changed({ todos: [] }, { callId: 'c9' }),
    changed({ plan: 'x'.repeat(70_000) }),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1'),
    started('c1'),
    succeeded('c1'),
    changed({ todos: [] }, { callId: 'c1' }),
    ended('t1'),
  ])
  expect(found.map(({ problem }) => problem)).toEqual([
    "event 2 (state_set) names call 'c9', which is not in the log before it",
    'event 3 (state_set) makes the state of the conversation larger than it may be',
    "event 8 (state_set) sets the state for call 'c1', which has its result already",
  ])
})

test('what comes too early is', async () => {
  const found = await findingsIn([said('t1'), succeeded('c1'), replied('t1', 'm1', 0, { calls: ['c1'] }), called('c1')])
  expect(found.map(({ problem }) => problem)).toEqual([expect.stringContaining('event 2 (tool_result)')])
})

test('a call that is made twice is, and so is a seed in the middle and an event of a session', async () => {
  const odd: NewEvent[] = [
    said('t1'),
    called('c1'),
    called('c1'),
    { type: 'seeded', content: { state: null } },
    { type: 'flow_ended', content: { status: 'done', result: null } },
  ]
  expect((await findingsIn(odd)).map(({ problem }) => problem)).toEqual([
    "event 3 (tool_call) makes call 'c1', which the log has already",
    'event 4 (seeded) seeds a log that already has events',
    'event 5 (flow_ended) belongs to a flow session, but this is the log of a conversation',
  ])
})

test('a deadline that is moved where only a row waits is', async () => {
  const store = memoryStore()
  await store.commit('c1', { events: [said('t1'), called('c1')], conversation: { agent: 'a' } })
  for (const id of ['c1', 'c9']) {
    await store.upsertToolCall('c1', { id })
    await store.scheduleExpiry('c1', id, 60_000)
  }
  const problems: string[] = []
  await examineStore(store, {
    onFinding: ({ code, problem }) => void (code === 'event_ignored' && problems.push(problem)),
  })
  await store.close()
  expect(problems).toEqual([
    "event 3 (deadline_moved) moves the deadline of round 1 of call 'c1', which does not wait",
    "event 4 (deadline_moved) names call 'c9', which is not in the log before it",
  ])
})

test('very many are told of by their number', async () => {
  const many = Array.from({ length: 1_500 }, (_, index) => succeeded(`gone-${index}`))
  const found = await findingsIn([said('t1'), ...many])
  expect(found).toHaveLength(1_001)
  expect(found.at(-1)?.problem).toBe('500 more events are about something that is not in the log')
})
