import type { Case, Mutant } from './mutant.ts'

const events = (test: string): Case => ({ file: 'src/log/restored-events.test.ts', test })
const reading = (test: string): Case => ({ file: 'src/log/snapshot.test.ts', test })
const restoring = (test: string): Case => ({ file: 'test/stories/snapshots-restoring.test.ts', test })
const triedAgain = (test: string): Case => ({ file: 'test/stories/snapshots-tried-again.test.ts', test })
const deleting = (test: string): Case => ({ file: 'test/stories/snapshots-deleting.test.ts', test })
const snapshots = (test: string): Case => ({ file: 'test/stories/authorize-snapshots.test.ts', test })
const unlisted = (test: string): Case => ({ file: 'test/stories/user-ids-unlisted.test.ts', test })
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })

function mutant(name: string, file: string, find: string, replace: string, ...killedBy: Case[]): Mutant {
  return { name, edits: [{ file, find, replace }], killedBy }
}

/** Bugs in how a conversation is restored from a snapshot, and in how a deleted one stays deleted. */
export const restoreMutants: readonly Mutant[] = [
  {
    name: 'a snapshot is restored for a caller who may not use what its owner opened',
    edits: [
      {
        file: 'src/runtime/restore-conversation.ts',
        find: 'if (!(await mayRestore(action, { ...row, owner: snapshot.owner })))',
        replace: 'if (!(await mayRestore(action, { ...row, owner: who })))',
      },
    ],
    killedBy: [snapshots('is hidden from another user as one with a log is (filter)')],
  },
  {
    name: 'a restored conversation belongs to the caller who restored it',
    edits: [
      {
        file: 'src/runtime/restore-conversation.ts',
        find: 'const owner = snapshot.owner ?? identity.who',
        replace: 'const owner = identity.who',
      },
    ],
    killedBy: [
      snapshots(
        'belongs to its owner after a user whom authorize allows has restored it, and so does what waits in it',
      ),
    ],
  },
  mutant(
    'a snapshot that says that the system owns it makes tools run as the system',
    'src/runtime/restore-conversation.ts',
    "owner === 'system' ? identity.who : owner",
    'owner',
    snapshots(
      'acts as its caller where it says that its owner is the system, and never as more than its owner (system)',
    ),
  ),
  mutant(
    'a snapshot of a user without an id acts as the system, where the system restores it',
    'src/runtime/restore-conversation.ts',
    "owner === 'system' ? identity.who : owner",
    "owner === 'system' || owner === 'anonymous' ? identity.who : owner",
    snapshots(
      'acts as its caller where it says that its owner is the system, and never as more than its owner (anonymous)',
    ),
  ),
  mutant(
    'a snapshot whose owner no row can have is not restored',
    'src/runtime/restore-conversation.ts',
    '...(isId(owner) ? { owner } : {})',
    'owner',
    unlisted('gets a conversation back from its snapshot, which says whose it is'),
  ),
  mutant(
    'a message of a user whose id no row can have is refused after a restart',
    'src/runtime/send-message.ts',
    'const owner = isId(opener) ? opener : null',
    'const owner = opener',
    unlisted('goes on with a conversation after a restart, and no one else becomes its owner'),
  ),
  mutant(
    'a conversation whose opener no row can have is taken over by the next sender',
    'src/runtime/send-message.ts',
    'const owner = isId(opener) ? opener : null',
    'const owner = isId(opener) ? opener : isId(who) ? who : null',
    unlisted('goes on with a conversation after a restart, and no one else becomes its owner'),
  ),
  mutant(
    'a restored question does not say in the inbox that the same was done before',
    'src/log/restored-events.ts',
    'return before ? { ...event, content: { ...event.content, doneBefore: before } } : event',
    'return event',
    triedAgain('asks in the inbox, as in its view, with what a withdrawn turn did'),
  ),
  mutant(
    'a copy of the package does not know the system scopes of another',
    'src/define/scope.ts',
    '(shared[systemScopesKey] ??= new WeakSet())',
    '(shared[systemScopesKey] = new WeakSet())',
    {
      file: 'src/define/create-scope.test.ts',
      test: 'the system scope of another copy of the package is known, and a copy of the scope is not',
    },
  ),
  {
    name: 'a snapshot of a fork names the person who opened its source',
    edits: [
      {
        file: 'src/snapshot/owner-of.ts',
        find: 'return owner ?? (lastSeq === 0 ? null : openerOf(store, id))',
        replace: 'return lastSeq === 0 ? owner : openerOf(store, id)',
      },
    ],
    killedBy: [snapshots('belongs to the user who forked it, where it is a fork')],
  },
  {
    name: 'a snapshot without an owner belongs to any caller',
    edits: [
      { file: 'src/snapshot/persistence.ts', find: '? { owner: null, ...state } : null', replace: '? state : null' },
    ],
    killedBy: [
      snapshots('of an earlier version has no owner, and is given only to those who may have what no one owns'),
    ],
  },
  {
    name: 'a message joins a conversation that another user opened while its snapshot was loaded',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: "if (isNew && restored === 'begun_elsewhere') throw new BegunMeanwhile()",
        replace: '',
      },
    ],
    killedBy: [snapshots('is asked about again where another user opened the id while it was loaded')],
  },
  {
    name: 'a snapshot is deleted by a caller who may not delete what its owner opened',
    edits: [
      {
        file: 'src/runtime/delete-conversation.ts',
        find: "if (lastSeq === 0 && mayRestore) await askAboutSnapshots(node, { id, identity, store, mayRestore }, 'delete')",
        replace: 'void askAboutSnapshots',
      },
    ],
    killedBy: [snapshots('is hidden from another user as one with a log is (filter)')],
  },
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
    'a refund of a restored turn is repeated without force',
    'src/log/restored-events.ts',
    "started !== null && executor === 'server' ? [startOf(callId)] : []",
    "started !== null && executor === 'provider' ? [startOf(callId)] : []",
    triedAgain('is tried again past a refund only by force, and the model is told what was done'),
  ),
  mutant(
    'a snapshot forgets that a call was started',
    'src/snapshot/take-snapshot.ts',
    'const mayHaveActed = hasActed(call) ||',
    'const mayHaveActed =',
    triedAgain('is tried again past a refund only by force, and the model is told what was done'),
  ),
  mutant(
    'a call that is started after the snapshot is taken is repeated without force',
    'src/snapshot/take-snapshot.ts',
    "|| (phase.type !== 'ended' && executor !== 'human')",
    "|| (phase.type === 'pending' && executor !== 'human')",
    {
      file: 'src/snapshot/take-snapshot.test.ts',
      test: 'a call that has not ended says the same, because it may be started after the snapshot',
    },
  ),
  mutant(
    'what a page did before its log was restored is repeated without force',
    'src/log/superseded.ts',
    "const isElsewhere = executor === 'client' ||",
    'const isElsewhere =',
    triedAgain('needs force past what a page did, and past a child agent'),
  ),
  mutant(
    'a snapshot of an earlier release lets a refund be repeated without force',
    'src/log/restored-events.ts',
    "(executor === 'human' ? null : 'report')",
    "(executor === 'human' ? null : 'rerun')",
    triedAgain('of a snapshot that does not say what was started needs force past every tool'),
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
    restoring('is restored when it is continued: messages marked as restored, and a call that can be approved'),
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
    'src/snapshot/owner-of.ts',
    'events.find(',
    'events.findLast(',
    {
      file: 'src/snapshot/owner-of.test.ts',
      test: 'a conversation whose row names no owner belongs to the person who spoke first',
    },
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
