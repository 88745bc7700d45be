import type { Case, Mutant } from './mutant.ts'

const inbox = (test: string): Case => ({
  file: 'test/stories/sessions-inbox.test.ts',
  test,
})
const lists = (test: string): Case => ({
  file: 'test/stories/sessions-without-code.test.ts',
  test,
})
const without = (test: string): Case => ({
  file: 'test/stories/sessions-without-code.test.ts',
  test,
})
const waited = (test: string): Case => ({
  file: 'test/stories/sessions-kinds.test.ts',
  test,
})
const kinds: Case = {
  file: 'test/stories/sessions-kinds.test.ts',
  test: 'is refused by every verb, which says what to use; nothing is written',
}

const once = 'is answered by resolve, once, also where the code is not; it is in no other tenant'
const key = 'takes the same key as the same answer, and never an answer that was meant for another'
const shown = 'has its flow, seq, tag and schema, beside the calls, the newest first, page by page'
const ofFork = 'of a fork is its own: an answer to one leaves the other waiting'
const lost = 'whose row is lost or stale is put right by the doctor, and its answer is judged by the log'
const listed = 'say how each stands, by flow and by status, page by page, and only to its tenant'
const answered = 'is answered there: the schema in the log checks the answer, and another process goes on'
const read = 'is read by name: status, questions, result, record, events and live events'
const sleeping = 'is sleeping with the time it wakes at, and outcome waits further'
const dormant = 'of a fork is dormant until it is resumed or continued, or goes on at once'

type Row = readonly [name: string, file: string, find: string, replace: string, ...killedBy: Case[]]

const rows: readonly Row[] = [
  [
    'what a session asks is in no inbox',
    'src/engine/flow/flow-owner.ts',
    'calls.push(flowCall(id, { seq',
    'void (flowCall(id, { seq',
    inbox(shown),
  ],
  [
    'the row of a question names the event before it',
    'src/engine/flow/flow-owner.ts',
    'seq: this.lastSeq + 1 + index',
    'seq: this.lastSeq + index',
    inbox(once),
  ],
  [
    'questions that lost a race stay in the inbox when the session goes on afresh',
    'src/engine/flow/flow-owner.ts',
    "type === 'flow_ended' || type === 'flow_continued'",
    "type === 'flow_ended'",
    inbox(key),
  ],
  [
    'an answered question stays in the inbox',
    'src/runtime/resume-session.ts',
    "end: { status: 'resolved', value: answer }",
    'end: null',
    inbox(key),
  ],
  [
    'an answer is taken for the question that waits, whichever was meant',
    'src/runtime/flow-session.ts',
    'const options = { seq, ...(key === undefined ? {} : { key }) }',
    'const options = { ...(key === undefined ? {} : { key }) }',
    inbox(once),
  ],
  [
    'the loser of two answers is told nothing of the first',
    'src/runtime/resume-session.ts',
    "if (type === 'flow_outcome' && content.position === position)",
    "if (type === 'flow_outcome' && content.position > position)",
    inbox(once),
  ],
  [
    'a fork has no rows of what it waits for',
    'src/store/plan-fork.ts',
    'if (isFlow) calls.push(...questionRows(events, newId))',
    '',
    inbox(ofFork),
  ],
  [
    'a fork that had ended is dormant',
    'src/store/plan-fork.ts',
    "if (!ended) return 'idle'",
    "if (ended) return 'idle'",
    waited(dormant),
  ],
  [
    'the doctor knows no rows of questions',
    'src/upkeep/expected-calls.ts',
    "if (event.seq === 1 && event.type === 'flow_started')",
    "if (event.seq === 0 && event.type === 'flow_started')",
    inbox(lost),
  ],
  [
    'the doctor misses no row of a question that waits',
    'src/upkeep/expected-calls.ts',
    'isOptional: end !== null',
    'isOptional: end === null',
    inbox(lost),
  ],
  [
    'a question of a session gets a deadline',
    'src/store/tenant-store.ts',
    "if (row.kind === 'flow') throw",
    'if (false as boolean) throw',
    inbox('has no deadline, and is not ended behind the back of its flow'),
  ],
  [
    'sessions are listed among conversations of the same kind',
    'src/runtime/read/lists.ts',
    "kind: 'flow',\n    ...(flow",
    '...(flow',
    lists(listed),
  ],
  [
    'SQLite lists both kinds, whichever was asked for',
    'src/store/sqlite/conversations.ts',
    'kind = coalesce(?, kind)',
    'kind = coalesce(kind, ?)',
    {
      file: 'src/store/sqlite/sqlite-store.test.ts',
      test: 'a list can be narrowed to conversations or to sessions, and sessions to those that sleep or failed',
    },
  ],
  [
    'SQLite walks all conversations to list sessions',
    'src/store/sqlite/conversations.ts',
    "kind === 'flow' ? 'sessions' : 'by_age'",
    "'by_age'",
    {
      file: 'src/store/sqlite/session-list.test.ts',
      test: 'a list of sessions walks the index of sessions, and sorts nothing',
    },
  ],
  [
    'Postgres walks all conversations to list sessions',
    'src/store/postgres/conversations.ts',
    "if (kind === 'flow') add('e', () => \"kind = 'flow'\")\n  else if",
    'if',
    {
      file: 'src/store/postgres/session-list.test.ts',
      test: 'a list of sessions reads the sessions, however many conversations there are',
    },
  ],
  [
    'the application is asked to delete copies of sessions, which it never got',
    'src/runtime/delete-conversation.ts',
    " || record.kind === 'flow'",
    '',
    {
      file: 'test/stories/snapshots-deleting.test.ts',
      test: 'of a tenant asks for no copy of a session, of which none is ever made',
    },
  ],
  [
    'a list shows a failed session as done',
    'src/engine/flow/flow-state.ts',
    "state.ended.status === 'failed' ? 'failed' : 'ended'",
    "'ended'",
    lists(listed),
  ],
  [
    'a session that sleeps is listed as running',
    'src/engine/flow/flow-state.ts',
    "wakeTime(state) === null ? 'active' : 'sleeping'",
    "'active'",
    lists(listed),
    waited(sleeping),
  ],
  [
    'a session that has woken is still listed as asleep',
    'src/engine/flow/flow-owner.ts',
    "this.#isActive ? {} : { conversation: { status: 'active' } }",
    '{}',
    { file: 'src/engine/flow/flow-owner.test.ts', test: 'a session that wakes is active from its first commit on' },
  ],
  [
    'a session that sleeps is taken for one that stands',
    'src/runtime/flow-session.ts',
    "found.status !== 'sleeping'",
    "found.status !== ('x' as string)",
    waited(sleeping),
  ],
  [
    'a session sleeps beside what runs',
    'src/engine/flow/flow-state.ts',
    'times.length > 0 && times.length === open.length',
    'times.length > 0',
    {
      file: 'src/engine/flow/flow-state.test.ts',
      test: 'a session sleeps while nothing but sleeps is open, until the first of them ends',
    },
  ],
  [
    'a fork says that it waits, though nothing works on it',
    'src/engine/flow/flow-state.ts',
    "if (record?.status === 'idle')",
    'if (false as boolean)',
    waited(dormant),
  ],
  [
    'a fork that has to go on at once does nothing',
    'src/runtime/flow-session.ts',
    'if (run) await wake(newId)',
    '',
    waited(dormant),
  ],
  [
    'a node that runs nothing waits for what others do',
    'src/runtime/flow-session.ts',
    'worker === null || !node.flows.has(flow.name)',
    '!node.flows.has(flow.name)',
    {
      file: 'src/runtime/flow-session.test.ts',
      test: 'a session that has started is active and of its flow before anything has worked on it',
    },
  ],
  [
    'without the code, any answer fits',
    'src/runtime/resume-session.ts',
    'schema === null ? given : acceptedByLog(schema, given)',
    'given',
    without(answered),
  ],
  [
    'a watch of a session repeats the event it goes on from',
    'src/runtime/read/read-record.ts',
    'if (event.seq > (last?.seq ?? after)) yield event',
    'if (event.seq >= (last?.seq ?? after)) yield event',
    without(read),
  ],
  [
    'a watch of a session that has ended goes on for ever',
    'src/runtime/read/read-record.ts',
    "if (event.type === 'flow_ended' || signal?.aborted) return",
    'if (signal?.aborted) return',
    without(read),
  ],
  [
    'a session is shown as a conversation without turns',
    'src/store/working-sets.ts',
    "if (type === 'flow_started') throw",
    "if (type === ('x' as string)) throw",
    kinds,
  ],
  [
    'the log of a session is read as that of a conversation',
    'src/runtime/conversation-handle.ts',
    "if (record?.kind === 'flow') throw",
    'if (false as boolean) throw',
    kinds,
  ],
  [
    'a conversation is a session that does not exist',
    'src/runtime/flow-session.ts',
    "if (record?.kind === 'conversation' && record.lastSeq > 0) throw",
    'if (false as boolean) throw',
    {
      file: 'test/stories/flows-verbs.test.ts',
      test: 'to take the log of a conversation for a session',
    },
  ],
]

/** Bugs in how sessions are read, listed, answered and waited for. */
export const sessionMutants: readonly Mutant[] = rows.map(([name, file, find, replace, ...killedBy]) => ({
  name: `sessions: ${name}`,
  edits: [{ file, find, replace }],
  killedBy,
}))
