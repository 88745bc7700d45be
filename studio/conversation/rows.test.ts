import { foldView, type LogEvent, type View } from 'perdure/client'
import { expect, test } from 'vitest'
import { called, ended, madeLog, resolved, said, suspended, wrote } from '../inspector/made-log.ts'
import { callsOf, hasEvent, rowsOf } from './rows.ts'

const nothing: View = {
  ...{ conversationId: 'c', seq: 0, title: null, phase: 'idle', state: null, activity: null, messages: [], notes: [] },
  ...{ before: null, pending: [], children: { waiting: [], pending: [] }, drafts: [], progress: {} },
  log: { lastSeq: 0, title: null, seed: null, turns: [] },
}
const viewOf = (events: readonly LogEvent[]): View => foldView(nothing, events)
const kinds = (view: View) =>
  rowsOf(view).map((row) =>
    row.type === 'message' ? `${row.message.role}${row.isSteering ? ' steering' : ''}` : row.type,
  )

test('a turn that completed has no line of its own; one that was cancelled or failed has', () => {
  const view = viewOf(
    madeLog(
      said('t1', 'hello'),
      wrote('t1', 'm1', 'Hello.'),
      ended('t1'),
      said('t2', 'and now'),
      ended('t2', 'failed'),
    ),
  )
  expect(kinds(view)).toEqual(['user', 'assistant', 'user', 'end'])
  expect(rowsOf(view).at(-1)).toMatchObject({ turn: { turnId: 't2' }, isNewest: true })
})

test('a second message into an open turn steers it, and the agent that goes on is not named again', () => {
  const view = viewOf(
    madeLog(
      said('t1', 'count'),
      wrote('t1', 'm1', 'One.', { finishReason: 'tool-calls' }),
      wrote('t1', 'm2', 'Two.'),
      said('t1', 'faster'),
      wrote('t1', 'm3', 'Done.'),
      ended('t1'),
    ),
  )
  expect(kinds(view)).toEqual(['user', 'assistant', 'assistant', 'user steering', 'assistant'])
  expect(rowsOf(view).map((row) => 'isContinued' in row && row.isContinued)).toEqual([false, false, true, false, false])
})

test('notes and messages that were sent back stand where they happened, and drafts at the end', () => {
  const view = viewOf(
    madeLog(
      said('t1', 'hello'),
      ['note', { name: 'mood', data: 'good', who: 'app' }],
      wrote('t1', 'm1', 'Rude.'),
      ['regeneration', { messageId: 'm1', n: 1, feedback: 'be polite' }],
      wrote('t1', 'm2', 'Hello.'),
    ),
  )
  const draft = { turnId: 't1', messageId: 'm3', n: 1, parts: [] }
  expect(kinds({ ...view, drafts: [draft] })).toEqual(['user', 'note', 'regenerated', 'assistant', 'draft'])
})

test('an event is found in the line of its message, also when it is about a call of it', () => {
  const view = viewOf(
    madeLog(
      said('t1', 'refund'),
      wrote('t1', 'm1', 'One moment.', { parts: [{ type: 'call', callId: 'k1' }] }),
      called('t1', 'k1', 'refund', { gated: true }),
      suspended('k1'),
      resolved('k1', 'eve'),
    ),
  )
  const [user, agent] = rowsOf(view)
  const calls = callsOf(view)
  expect([1, 2, 3, 4, 5].map((seq) => hasEvent(agent!, seq, calls))).toEqual([false, true, true, true, true])
  expect(hasEvent(user!, 1, calls)).toBe(true)
})
