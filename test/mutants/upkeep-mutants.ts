import type { Case, Mutant } from './mutant.ts'

const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const imports = (test: string): Case => ({ file: 'src/upkeep/import-store.test.ts', test })
const corrupted: Case = {
  file: 'test/upkeep/corruption.test.ts',
  test: 'has each corruption named, and is as before after the repair',
}
const byUrl: Case = {
  file: 'test/upkeep/by-url.test.ts',
  test: 'by something between leaves no file, though the answer ended well',
}
const restored = 'a conversation that is read and restored is the same, row by row'

export const upkeepMutants: readonly Mutant[] = [
  {
    name: 'upkeep: a snapshot on SQLite sees what is written meanwhile',
    edits: [
      {
        file: 'src/store/sqlite/upkeep/upkeep.ts',
        find: "          db.run('BEGIN')\n",
        replace: '',
      },
    ],
    killedBy: [sqlite('a snapshot is one moment, whatever is written meanwhile')],
  },
  {
    name: 'upkeep: a snapshot on Postgres sees what is written meanwhile',
    edits: [
      {
        file: 'src/store/postgres/upkeep/upkeep.ts',
        find: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
        replace: 'BEGIN READ ONLY',
      },
    ],
    killedBy: [postgres('a snapshot is one moment, whatever is written meanwhile')],
  },
  {
    name: 'upkeep: a restored conversation forgets its wake-up',
    edits: [
      {
        file: 'src/store/sqlite/upkeep/restore.ts',
        find: 'row.updatedAt, row.wakeAt, row.isDormant',
        replace: 'row.updatedAt, null, row.isDormant',
      },
    ],
    killedBy: [sqlite(restored)],
  },
  {
    name: 'upkeep: a restored conversation on Postgres does not know where its log ends',
    edits: [
      {
        file: 'src/store/postgres/upkeep/restore.ts',
        find: '  await query(setSeq, [tenant, conversation.id, seq])\n',
        replace: '',
      },
    ],
    killedBy: [postgres(restored)],
  },
  {
    name: 'upkeep: a repair does not mind who works on the conversation',
    edits: [{ file: 'src/store/postgres/upkeep/upkeep.ts', find: "  if (row.held) return 'held'\n", replace: '' }],
    killedBy: [
      postgres('derived rows are rebuilt if log and row are as expected and no process holds the conversation'),
    ],
  },
  {
    name: 'upkeep: what has no ref is garbage though it is pinned',
    edits: [
      {
        file: 'src/store/sqlite/upkeep/upkeep.ts',
        find: 'WHERE tenant = coalesce(?, tenant) AND pins <= 0 AND NOT EXISTS',
        replace: 'WHERE tenant = coalesce(?, tenant) AND NOT EXISTS',
      },
    ],
    killedBy: [sqlite('only unneeded rows are collected, and counted before')],
  },
  {
    name: 'upkeep: an import does not compare a conversation with its digest',
    edits: [
      {
        file: 'src/upkeep/import-source.ts',
        find: "line.whole('rows') !== expected.rows || line.string('sha256') !== expected.sha256",
        replace: "line.whole('rows') !== expected.rows",
      },
    ],
    killedBy: [
      imports('of an export in which anything was changed is refused, and nothing that was changed is written'),
    ],
  },
  {
    name: 'upkeep: an export takes any text for JSON',
    edits: [{ file: 'src/upkeep/export-line.ts', find: 'text += isCanonical(json) ?', replace: 'text += json ?' }],
    killedBy: [{ file: 'test/upkeep/damage.test.ts', test: 'a store with text that is no JSON is copied as it is' }],
  },
  {
    name: 'upkeep: the doctor takes every cached state for that of the log',
    edits: [
      {
        file: 'src/upkeep/finish-examination.ts',
        find: 'if (isUpToDate && fsmAtCached && isCacheOf(cached, fsmAtCached))',
        replace: 'if (isUpToDate)',
      },
    ],
    killedBy: [corrupted],
  },
  {
    name: 'upkeep: the doctor does not look at deadlines',
    edits: [
      {
        file: 'src/upkeep/expected-calls.ts',
        find: 'if (row.expiresAt === expected.expiresAt) return null',
        replace: 'if (row.status) return null',
      },
    ],
    killedBy: [corrupted],
  },
  {
    name: 'upkeep: an export without its end is taken for whole',
    edits: [
      {
        file: 'src/cli/upkeep/remote-upkeep.ts',
        find: 'return held.length === 0 ? exported : null',
        replace: "return exported ?? { digest: '', conversations: done }",
      },
    ],
    killedBy: [byUrl],
  },
  {
    name: 'upkeep: work that a server did not end is taken for done',
    edits: [
      {
        file: 'src/cli/upkeep/remote-upkeep.ts',
        find: 'if (result === null) throw ask.cutOff()',
        replace: 'if (result === null) return {} as T',
      },
    ],
    killedBy: [byUrl],
  },
  {
    name: 'upkeep: whatever answers with 200 is a server of ours',
    edits: [
      {
        file: 'src/cli/upkeep/remote-upkeep.ts',
        find: "if (!incoming.headers['content-type']?.startsWith(ask.expects ?? 'application/x-ndjson'))",
        replace: 'if (false as boolean)',
      },
    ],
    killedBy: [
      {
        file: 'src/cli/upkeep/remote-upkeep.test.ts',
        test: 'a server that answers with pages is no server to look after',
      },
    ],
  },
  {
    name: 'upkeep: a row that cannot be read ends the search for work',
    edits: [
      {
        file: 'src/store/claim-due.ts',
        find: '    return { problem: error as ConversationUnreadableError, fork: null }',
        replace: '    throw error',
      },
    ],
    killedBy: [
      {
        file: 'test/upkeep/damage.test.ts',
        test: 'a row that cannot be read stops no other work, and is logged once',
      },
    ],
  },
  {
    name: 'the doctor keeps all of a turn that is still open',
    edits: [
      {
        file: 'src/upkeep/log-fold.ts',
        find: 'boundState(state, this.#weight, bounds)',
        replace: 'state',
      },
    ],
    killedBy: [
      {
        file: 'src/upkeep/log-fold.test.ts',
        test: 'a turn of any size is folded in little memory, and still says what waits',
      },
    ],
  },
  {
    name: 'the doctor gathers events by their number, however large they are',
    edits: [{ file: 'src/upkeep/log-fold.ts', find: ' || this.#batchBytes > batchBytes', replace: '' }],
    killedBy: [{ file: 'src/upkeep/log-fold.test.ts', test: 'large events are folded as they come, and not gathered' }],
  },
  {
    name: 'a log that once had a large turn is never whole again for the doctor',
    edits: [{ file: 'src/upkeep/log-fold.ts', find: 'bounded.turns.every(isWhole)', replace: 'bounded.lastSeq < 0' }],
    killedBy: [
      {
        file: 'src/upkeep/log-fold.test.ts',
        test: 'once a turn that was too large has ended, later turns are whole again',
      },
    ],
  },
  {
    name: 'a page is told that a turn is missing where its node cannot read the log',
    edits: [
      {
        file: 'src/server/live/follow-turn.ts',
        find: 'if (unknownEvent) throw',
        replace: 'if (unknownEvent?.seq === 0) throw',
      },
    ],
    killedBy: [
      {
        file: 'src/server/ui/ui-stream.test.ts',
        test: 'a turn that may be behind an event this node does not know is not said to be missing',
      },
    ],
  },
]
