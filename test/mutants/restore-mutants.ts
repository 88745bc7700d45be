import type { Case, Mutant } from './mutant.ts'

const events = (test: string): Case => ({ file: 'src/log/restored-events.test.ts', test })
const reading = (test: string): Case => ({ file: 'src/log/snapshot.test.ts', test })
const restoring = (test: string): Case => ({ file: 'test/stories/snapshots-restoring.test.ts', test })
const deleting = (test: string): Case => ({ file: 'test/stories/snapshots-deleting.test.ts', test })
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })

function mutant(name: string, file: string, find: string, replace: string, ...killedBy: Case[]): Mutant {
  return { name, edits: [{ file, find, replace }], killedBy }
}

/** Bugs in how a conversation is restored from a snapshot, and in how a deleted one stays deleted. */
export const restoreMutants: readonly Mutant[] = [
  mutant(
    'a restored call keeps the id that may still be pending elsewhere',
    'src/log/restored-events.ts',
    'const callId = this.#restoring.newId()\n      calls.push',
    'const { callId } = part\n      calls.push',
    events('with new ids, the old id of each call, the old times, no usage and the person who restores it'),
  ),
  mutant(
    'a restored turn that ran stays open',
    'src/log/restored-events.ts',
    'return waits ? first : turns.length',
    'return first + (waits ? 0 : 0)',
    events('that ran has failed: it may have ended elsewhere'),
  ),
  mutant(
    'a call of a restored turn that has ended can be answered',
    'src/log/restored-events.ts',
    'const isAsked = isLive && isPending(call)',
    'const isAsked = isPending(call)',
    events('that waits in a turn that has ended cannot be answered'),
  ),
  mutant(
    'a restored deadline begins anew',
    'src/log/restored-events.ts',
    'Math.max(1, expiresAt - this.#restoring.now)',
    'Math.max(1, expiresAt)',
    events('keeps its deadline: what is left of it, and at least a moment'),
  ),
  mutant(
    'a restored call of the page is approved once more',
    'src/log/restored-events.ts',
    "gated: kind === 'approval'",
    'gated: isAsked',
    events('that waits for elicitation waits again, without another approval'),
  ),
  mutant(
    'a withheld message is restored with its text',
    'src/log/restored-events.ts',
    'const parts = withheld === undefined ? message.parts : []',
    'const { parts } = message',
    events('a withheld message comes back after its mark, without parts and object'),
  ),
  mutant(
    'a restored turn forgets that one of its calls ends it',
    'src/log/restored-events.ts',
    'isLive && call.halts !== undefined ?',
    'isLive && call.halts === null ?',
    events('that ends its turn does so again, once what waits beside it is answered'),
  ),
  mutant(
    'a snapshot may list a turn twice, and its messages are restored twice',
    'src/log/read-snapshot.ts',
    'if (names.size < turns.length) return "\'snapshot.turns\' must not name a turn twice"',
    '',
    reading('with a turn that is listed twice is refused, and the problem names the place'),
  ),
  mutant(
    'a snapshot of any length is restored whole',
    'src/log/read-snapshot.ts',
    'return parts < 0 || characters < 0',
    'return parts > 0 && characters < -mostCharacters * 1_000',
    events('in parts leaves out the oldest turns'),
  ),
  mutant(
    'a restored message has the time of its restoring',
    'src/log/fold-events.ts',
    'at: restoredAt ?? event.at,',
    'at: event.at,',
    events('with new ids, the old id of each call, the old times, no usage and the person who restores it'),
  ),
  mutant(
    'restored messages are not marked in views',
    'src/view/view-of.ts',
    '...(restoredAt !== undefined && { restored: true })',
    '...(restoredAt === null && { restored: true })',
    restoring('is there again when it is continued: messages marked as restored, and a call that can be approved'),
  ),
  mutant(
    'a snapshot leaves out the bytes of files, so they are not restored',
    'src/snapshot/snapshot-files.ts',
    'return mapFiles(snapshot, (file) => (data.has(file) ?',
    'return mapFiles(snapshot, (file) => (data.size < 0 ?',
    restoring('has its files: those in the snapshot, and those that the store still has; others are named'),
  ),
  mutant(
    'a page reads in a snapshot why a turn failed',
    'src/view/disclose.ts',
    "const reason = hiddenReason('failed', turn['reason'])",
    'const { reason = null } = turn',
    { file: 'src/view/disclose.test.ts', test: 'the reason why a turn of a snapshot failed is its code' },
  ),
  mutant(
    'the owner of a conversation is the person who spoke last',
    'src/snapshot/opener-of.ts',
    'turns[0]?.items',
    'turns.at(-1)?.items',
    restoring('belongs to the person who opened it, also when another process takes the snapshot'),
  ),
  mutant(
    'a conversation is deleted although its copy is not',
    'src/snapshot/snapshots.ts',
    'throw new SnapshotDeleteError(',
    'void new SnapshotDeleteError(',
    deleting('fails when the application throws: nothing is deleted, and it can be tried again'),
  ),
  mutant(
    'the copies of child agents are not deleted',
    'src/runtime/delete-conversation.ts',
    "if (type === 'suspension' && content.kind === 'sub_agent') yield",
    "if (type === 'suspension' && content.kind === 'approval') yield",
    deleting('deletes the copies of its child agents, and of all conversations of a tenant'),
  ),
  mutant(
    'a memory store restores an id in spite of its tombstone',
    'src/store/memory/commit-change.ts',
    'if (change.seeds && lastSeq === 0 &&',
    'if (!change.seeds && lastSeq === 0 && change.creates &&',
    memory('a deleted id takes no seed, and nothing is written; a message begins it empty'),
  ),
  mutant(
    'a memory store forgets the tombstones of a tenant that is deleted',
    'src/store/memory/memory-tables.ts',
    'emptyTables(freed, tombstones)',
    'emptyTables(freed, new Map(tombstones.size < 0 ? tombstones : []))',
    memory('the conversations of a deleted tenant take no seed; those of others do'),
  ),
  mutant(
    'an SQLite store leaves no tombstone for child agents',
    'src/store/sqlite/fork-and-delete.ts',
    '    releaseBlobs(db, cid)\n    leaveTombstone(db, tenant, id, Date.now())\n',
    '    releaseBlobs(db, cid)\n',
    sqlite('the child agents of a deleted conversation take no seed either; its forks do'),
  ),
  mutant(
    'an SQLite store restores an id in spite of its tombstone',
    'src/store/sqlite/commit-change.ts',
    'if (change.seeds && lastSeq === 0 && isDeleted(db, tenant, id))',
    'if (change.seeds && lastSeq < 0 && isDeleted(db, tenant, id))',
    sqlite('a deleted id takes no seed, and nothing is written; a message begins it empty'),
  ),
  mutant(
    'a Postgres store restores an id in spite of its tombstone',
    'src/store/postgres/commit-change.ts',
    "if (await beginsDeleted(query, addressed, outcome)) return { type: 'deleted' }",
    'await beginsDeleted(query, addressed, outcome)',
    postgres('a deleted id takes no seed, and nothing is written; a message begins it empty'),
  ),
]
