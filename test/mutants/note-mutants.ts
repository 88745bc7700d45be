import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const fold = (test: string): Case => ({ file: 'src/log/fold-events.test.ts', test })
const moved = (test: string): Case => ({ file: 'test/stories/humans-moved-deadline.test.ts', test })
const noted = (test: string): Case => ({ file: 'test/stories/turns-notes.test.ts', test })

const stale = 'an event for a round that does not wait is stale, and names the answer it lost to'

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'a deadline counts from the suspension, not from the event that moved it',
    'src/log/call-phase.ts',
    'moved.expiresInMs === null ? null : moved.at + moved.expiresInMs',
    'moved.expiresInMs === null ? null : at + moved.expiresInMs',
    fold('counts from the event that moved it last, and may be taken away'),
  ],
  [
    'the deadline of any round is moved',
    'src/log/fold-call.ts',
    "phase.type === 'pending' && phase.round.round === round &&",
    "phase.type === 'pending' &&",
    fold('is ignored, and told of, when it names another round'),
  ],
  [
    'the deadline of a child agent is moved',
    'src/log/fold-call.ts',
    " && phase.round.kind !== 'sub_agent'",
    '',
    fold('is ignored, and told of, when it is about a child agent'),
  ],
  [
    'a store moves the deadline of a child agent',
    'src/store/tenant-store.ts',
    "row.kind !== 'sub_agent'",
    "row.kind !== ('' as string)",
    memory('a call that waits for a child agent has no deadline to move'),
  ],
  [
    'a change may write calls beside a moved deadline',
    'src/store/prepare-change.ts',
    'calls?.length || resolve?.length ||',
    'resolve?.length ||',
    memory('a change moves one deadline, and writes and ends no call beside it'),
  ],
  [
    'memory moves the deadline of a round that is over',
    'src/store/memory/commit-change.ts',
    'if (!isOpen(tables.calls.get(callId), id, round)) return',
    'if (!isOpen(tables.calls.get(callId), id, 1)) return',
    memory(stale),
  ],
  [
    'SQLite moves the deadline of a round that is over',
    'src/store/sqlite/commit-change.ts',
    'if (!isOpen(findCall(db, tenant, callId), head, round)) return',
    'if (!isOpen(findCall(db, tenant, callId), head, 1)) return',
    sqlite(stale),
  ],
  [
    'Postgres writes the event where the round is over',
    'src/store/postgres/commit-change.ts',
    'return moved.length > 0 ? outcome :',
    'return moved.length >= 0 ? outcome :',
    postgres(stale),
  ],
  [
    'Postgres moves the deadline of a round that is over',
    'src/store/postgres/commit-change.ts',
    "AND status = 'pending' AND round = $4",
    "AND status = 'pending' AND round <= $4",
    postgres(stale),
  ],
  [
    'Postgres moves a deadline again for a known key',
    'src/store/postgres/commit-change.ts',
    'if (outcome.at === undefined) return outcome',
    'if (outcome.seq === 0) return outcome',
    postgres('a commit with the event moves the row, beside other events'),
  ],
  [
    'a moved deadline is not looked for in time',
    'src/store/tenant-store.ts',
    'if (prepared.deadline && prepared.deadline.expiresInMs !== null)',
    'if (prepared.deadline && prepared.deadline.expiresInMs === null)',
    memory('a deadline that was moved closer fires at its time'),
  ],
  [
    'a fork keeps the deadline of the row',
    'src/store/plan-fork.ts',
    'return { ...row, id, conversationId, expiresAt }',
    'return { ...row, id, conversationId }',
    memory('a fork has the deadline of the events it copies'),
  ],
  [
    'a moved deadline makes a row beside the log look logged',
    'src/store/plan-fork.ts',
    "if (event.type === 'deadline_moved') continue",
    "if (event.type === 'titled') continue",
    memory('a row that no event tells of comes along to a fork, also when its deadline was moved'),
  ],
  [
    'the doctor leaves a wrong deadline alone',
    'src/upkeep/finding.ts',
    'deadline_differs: { advice: rebuild, isDerived: true }',
    'deadline_differs: { advice: rebuild }',
    moved('is put back by a repair where only the row was changed'),
  ],
  [
    'a late move of a deadline is accepted',
    'src/runtime/extend-deadline.ts',
    'if (asked.resolution) return lost(asked.resolution)',
    'if (asked.resolution) return { accepted: true, expiresAt: null }',
    moved('is one of a call that was answered: the answer is told, and nothing is written'),
  ],
  [
    'a moved deadline wakes the conversation',
    'src/log/event-roles.ts',
    "  'user_msg',\n  'resolution',\n  'cancel_requested',\n  'flow_started',",
    "  'user_msg',\n  'resolution',\n  'deadline_moved',\n  'cancel_requested',\n  'flow_started',",
    memory('a moved deadline neither wakes nor needs a lease, and a fork stays dormant'),
  ],
  [
    'a note wakes the conversation',
    'src/log/event-roles.ts',
    "  'user_msg',\n  'resolution',\n  'cancel_requested',\n  'flow_started',",
    "  'user_msg',\n  'resolution',\n  'note',\n  'cancel_requested',\n  'flow_started',",
    memory('no other event wakes'),
  ],
  [
    'a note creates a conversation',
    'src/log/event-roles.ts',
    "['user_msg', 'seeded', 'flow_started']",
    "['user_msg', 'seeded', 'flow_started', 'note']",
    noted('needs a conversation, and makes none'),
  ],
  [
    'a note may be as large as any event',
    'src/store/prepare-change.ts',
    "event.type === 'note' ? maxNoteBytes : maxEventBytes",
    'maxNoteBytes < 0 ? maxNoteBytes : maxEventBytes',
    memory('a note of more than 64 KiB is refused, counted in bytes'),
  ],
  [
    'a state keeps every note',
    'src/log/notes.ts',
    'if (this.#weight <= 2 * keptBytes) return',
    'if (this.#weight >= 0) return',
    fold('very many keep a state small: the newest stay, however the log is cut into pieces'),
  ],
  [
    'a note of the turns that a state loses stays',
    'src/log/trim-state.ts',
    'notes.filter(({ seq }) => seq > begun)',
    'notes.filter(({ seq }) => seq > 0 || begun > 0)',
    {
      file: 'src/log/trim-state.test.ts',
      test: 'loses the notes of the turns it loses, and the oldest beyond a quarter of what it may weigh',
    },
  ],
  [
    'a summary takes notes along',
    'src/log/state.ts',
    'return state.notes ? notesSince(kept, toSeq) : kept',
    'return state.notes ? notesSince(kept, 0) : kept',
    fold('are not in the base of a summary, nor in what is left after one'),
  ],
  [
    'a page of history has the notes before it',
    'src/runtime/read/history-pages.ts',
    'this.#notes.filter(({ seq }) => seq >= first)',
    'this.#notes.filter(({ seq }) => seq >= first || seq > 0)',
    noted('is on the page of history that its place is on'),
  ],
  [
    'a page of history holds every note',
    'src/runtime/read/history-pages.ts',
    'if (this.#bytes > this.#maxBytes) this.#leftOut ||= event.seq',
    'if (this.#bytes < 0) this.#leftOut ||= event.seq',
    noted('very many leave view and pages small, say so, and are all in the log'),
  ],
  [
    'a note disturbs the record of a session',
    'src/engine/flow/flow-state.ts',
    "    case 'titled':\n    case 'note':\n      return null",
    "    case 'titled':\n      return null",
    noted('in the log of a session does not disturb the flow'),
  ],
]

/** Bugs around notes and moved deadlines. */
export const noteMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `notes: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
