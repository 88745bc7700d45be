import { expect, test } from 'vitest'
import { called, ended, placed, replied, resolved, said, started, succeeded, suspended } from '../../test/log/story.ts'
import { encode } from '../log/codec.ts'
import type { NewEvent } from '../log/events.ts'
import type { StoredCall, StoredConversation } from './driver.ts'
import { type ForkSource, planFork } from './plan-fork.ts'

const begun = (...calls: string[]): NewEvent[] => [
  said('t1'),
  replied('t1', 'm1', 1, { parts: [{ type: 'text', text: 'Now.' }, ...calls.map((callId) => callPart(callId))] }),
  ...calls.map((callId) => called(callId)),
]
const callPart = (callId: string) => ({ type: 'call' as const, callId })
const rowOf = (id: string, more: Partial<StoredCall> = {}): StoredCall => ({
  ...{ id, conversationId: 'c', name: '"refund"', executor: 'server', status: 'pending', args: '{}', result: null },
  ...{ round: 1, kind: 'approval', prompt: null, expiresAt: 99, createdAt: 1, resolvedAt: null, resolvedSeq: null },
  notice: null,
  meta: null,
  ...more,
})

function planned(events: readonly NewEvent[], more: Partial<ForkSource> = {}) {
  const log = placed(events).map(({ seq, at, type, content }) => ({ seq, at, type, content: encode(content) }))
  const conversation = {
    ...{ id: 'c', kind: 'conversation', agent: 'a', status: 'active', settings: '{"s":1}', title: '"T"' },
    ...{ lastSeq: log.length, fsmState: null, parent: null, createdAt: 1, updatedAt: 1 },
  } as unknown as StoredConversation
  const source = {
    conversation,
    summary: null,
    events: log,
    pending: [],
    at: log.length,
    agent: null,
    owner: null,
    ...more,
  }
  let ids = 0
  const plan = planFork(source, 'copy', () => `fresh-${++ids}`)
  const decoded = <Part extends { readonly content: string }>(part: Part) => {
    return { ...part, content: JSON.parse(part.content) as object }
  }
  return { ...plan, replaced: plan.replaced.map(decoded), appended: plan.appended.map(decoded) }
}

test('a log without open calls is copied as it is, as what it folds to', () => {
  const plan = planned([...begun('c1'), started('c1'), succeeded('c1'), replied('t1', 'm2', 5), ended('t1')])
  expect(plan).toMatchObject({ replaced: [], appended: [], calls: [] })
  expect(plan.conversation).toMatchObject({
    ...{ kind: 'conversation', agent: 'a', status: 'idle', settings: '{"s":1}', title: '"T"' },
    parent: '{"id":"c","at":7}',
  })
  expect(JSON.parse(plan.conversation.fsmState!)).toMatchObject({ state: 'idle', lastSeq: 7 })
})

test('a copy may be another agent’s', () => {
  expect(planned([said('t1')], { agent: 'b' }).conversation.agent).toBe('b')
})

test('an open call has a fresh id wherever it is named; one that has ended keeps its own', () => {
  const events = [...begun('c1', 'c2'), succeeded('c1'), suspended('c2', 'approval')]
  const { replaced, calls, conversation } = planned(events)
  expect(replaced.map(({ seq }) => seq)).toEqual([2, 4, 6])
  expect(replaced[0]!.content).toMatchObject({ parts: [{ text: 'Now.' }, callPart('c1'), callPart('fresh-1')] })
  expect(replaced.slice(1).map(({ content }) => content)).toMatchObject([{ callId: 'fresh-1' }, { callId: 'fresh-1' }])
  expect(calls).toMatchObject([{ id: 'fresh-1', conversationId: 'copy', kind: 'approval', round: 1 }])
  expect(conversation.status).toBe('suspended')
})

test('a call that was started, or is a child agent’s, stays with the source: in the copy it ends as unknown', () => {
  const events = [...begun('c1', 'c2', 'c3'), started('c1'), suspended('c2', 'sub_agent')]
  const { appended, calls } = planned(events)
  expect(appended).toMatchObject([
    { type: 'tool_result', content: { callId: 'fresh-1', ok: false, outcome: 'unknown' } },
    { type: 'tool_result', content: { callId: 'fresh-2', ok: false, outcome: 'unknown' } },
  ])
  expect(calls).toEqual([])
})

test('a call that was approved stays with the source, at whatever point, and what a page does is asked for again', () => {
  const approved = [
    ...begun('c1'),
    suspended('c1', 'approval'),
    resolved('c1', 'approval', 'resolved', { value: true }),
  ]
  const interrupted = [...approved, started('c1'), suspended('c1', 'recovery', { round: 2 })]
  for (const events of [approved, interrupted]) {
    const { appended, calls } = planned(events)
    expect(appended).toMatchObject([{ type: 'tool_result', content: { callId: 'fresh-1', ok: false } }])
    expect(calls).toEqual([])
  }
  const onPage = planned([...approved, suspended('c1', 'client_exec', { round: 2 })])
  expect(onPage).toMatchObject({ appended: [], calls: [{ round: 2, kind: 'client_exec' }] })
})

test('a row of the same round is copied; else the log says what it is, and it always says the deadline', () => {
  const asked = suspended('c1', 'approval', { prompt: 'sure?', expiresInMs: 500 })
  const same = planned([...begun('c1'), asked], { pending: [rowOf('c1', { expiresAt: 12_345 })] })
  expect(same.calls).toEqual([rowOf('fresh-1', { conversationId: 'copy', expiresAt: 4_500 })])
  const other = planned([...begun('c1'), asked], { pending: [rowOf('c1', { round: 2 })] })
  expect(other.calls).toEqual([
    rowOf('fresh-1', {
      ...{ conversationId: 'copy', args: '{"cents":5}', prompt: '"sure?"', expiresAt: 4_500, createdAt: 4_000 },
    }),
  ])
  const endless = planned([...begun('c1'), suspended('c1', 'approval')])
  expect(endless.calls).toMatchObject([{ expiresAt: null, prompt: 'null', status: 'pending', result: null }])
})

test('arguments that a person changed are those of the row', () => {
  const edited = { before: { cents: 5 }, after: { cents: 1 } }
  const events = [
    ...[...begun('c1'), suspended('c1', 'approval'), resolved('c1', 'approval', 'resolved', { value: true, edited })],
    suspended('c1', 'client_exec', { round: 2 }),
  ]
  expect(planned(events).calls).toMatchObject([{ round: 2, kind: 'client_exec', args: '{"cents":1}' }])
})

test('rows without events are copied with the whole log, and not with a part of it', () => {
  const pending = [rowOf('alone')]
  expect(planned([said('t1'), ended('t1')], { pending }).calls).toEqual([rowOf('fresh-1', { conversationId: 'copy' })])
  expect(planned([said('t1'), ended('t1')], { pending, at: 1 }).calls).toEqual([])
  const told = planned([...begun('c1'), succeeded('c1')], { pending: [rowOf('c1')] })
  expect(told.calls).toEqual([])
})

test('a session, and a log that cannot be folded from the rows at hand, have no cached state', () => {
  const flow = planned([{ type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } }])
  expect(flow.conversation).toMatchObject({ fsmState: null, status: 'idle' })
  const stored = { fromSeq: 1, toSeq: 1, version: 1, content: '"so far"', base: null }
  expect(planned([said('t1')], { summary: stored }).conversation.fsmState).toBe(null)
  const gap = planned([said('t1')], { events: [{ seq: 5, at: 1, type: 'titled', content: '{"title":"T"}' }], at: 5 })
  expect(gap.conversation.fsmState).toBe(null)
})
