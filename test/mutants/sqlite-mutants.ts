import type { Case, Mutant } from './mutant.ts'

const suite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const group = (test: string): Case => ({ file: 'src/store/sqlite/group-commit.test.ts', test })
const room = (test: string): Case => ({ file: 'src/store/sqlite/log-room.test.ts', test })
const reference = {
  file: 'test/reference-store/reference-store.test.ts',
  test: 'SQLite does what the reference store does, also when it is opened twice and reopened',
}

export const sqliteMutants: readonly Mutant[] = [
  {
    name: 'sqlite: an answer does not ask whether the call is still pending',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: "call.cid === head?.cid && call.status === 'pending' && call.round === round",
        replace: 'call.cid === head?.cid && call.round === round',
      },
    ],
    killedBy: [
      suite('the loser of a commit learns which resolution won'),
      suite('of forty resolvers at once one wins, and the others learn its answer'),
    ],
  },
  {
    name: 'sqlite: events and rows of a change are two transactions',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: '  if (change.key !== null) {\n    const insert',
        replace: "  db.run('COMMIT')\n  db.run('BEGIN IMMEDIATE')\n  if (change.key !== null) {\n    const insert",
      },
    ],
    killedBy: [
      { file: 'src/store/sqlite/atomic-change.test.ts', test: 'at its key' },
      { file: 'src/store/sqlite/atomic-change.test.ts', test: 'at the row it writes' },
    ],
  },
  {
    name: 'sqlite: a group is acknowledged before its commit',
    edits: [
      {
        file: 'src/store/sqlite/group-commit.ts',
        find: "      stage = 'commit'\n      db.run('COMMIT')\n",
        replace:
          "      for (const [index, job] of group.entries()) job.resolve(results[index])\n      stage = 'commit'\n      db.run('COMMIT')\n",
      },
    ],
    killedBy: [group('a commit that fails rejects every change in it as ambiguous, and the store continues')],
  },
  {
    name: 'sqlite: `before` is inclusive',
    edits: [
      {
        file: 'src/store/sqlite/events.ts',
        find: 'AND seq > ? AND seq < ?',
        replace: 'AND seq > ? AND seq <= ?',
      },
    ],
    killedBy: [suite('bounds are exclusive, and a limit keeps the newest of the range in ascending order'), reference],
  },
  {
    name: 'sqlite: a limit keeps the oldest',
    edits: [
      {
        file: 'src/store/sqlite/events.ts',
        find: "const isReversed = keep === 'newest' && (bounds",
        replace: "const isReversed = keep === 'oldest' && (bounds",
      },
    ],
    killedBy: [suite('bounds are exclusive, and a limit keeps the newest of the range in ascending order')],
  },
  {
    name: 'sqlite: the epoch is not checked',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: "  if (change.epoch !== null && head?.leaseEpoch !== change.epoch) return { type: 'epoch', lastSeq }\n",
        replace: '',
      },
    ],
    killedBy: [suite('a commit is accepted under the current epoch only')],
  },
  {
    name: 'sqlite: the expected seq is not checked where there are no events',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'if (change.expectedSeq !== null && change.expectedSeq !== lastSeq)',
        replace: 'if (change.expectedSeq !== null && change.events.length > 0 && change.expectedSeq !== lastSeq)',
      },
    ],
    killedBy: [suite('a commit without events checks epoch and expectedSeq, and returns the last seq')],
  },
  {
    name: 'sqlite: what a process left unsynced is shown without being synced',
    edits: [
      {
        file: 'src/store/sqlite/connection.ts',
        find: "if (!isNew) db.get('PRAGMA wal_checkpoint(PASSIVE)')",
        replace: "if (isNew) db.get('PRAGMA wal_checkpoint(PASSIVE)')",
      },
    ],
    killedBy: [
      {
        file: 'src/store/sqlite/open-database.test.ts',
        test: 'what a process left in the log is written to the file when another opens it; a new file has nothing to write',
      },
    ],
  },
  {
    name: 'sqlite: synchronous is OFF',
    edits: [
      {
        file: 'src/store/sqlite/connection.ts',
        find: 'PRAGMA synchronous = FULL',
        replace: 'PRAGMA synchronous = OFF',
      },
    ],
    killedBy: [
      {
        file: 'src/store/sqlite/open-database.test.ts',
        test: 'a connection has a write-ahead log, and syncs it with every commit',
      },
    ],
  },
  {
    name: 'sqlite: the inbox is not of one tenant',
    edits: [
      {
        file: 'src/store/sqlite/events.ts',
        find: "WHERE calls.tenant = ? AND calls.status = 'pending' AND (calls.created_at",
        replace: "WHERE calls.tenant >= min('', ?) AND calls.status = 'pending' AND (calls.created_at",
      },
    ],
    killedBy: [suite('no method of another tenant sees or changes anything of acme')],
  },
  {
    name: 'sqlite: an expiry does not wake the conversation',
    edits: [
      {
        file: 'src/store/sqlite/conversations.ts',
        find: "return isDormant ? null : { wakeAt: now, isDormant, status: 'active' }",
        replace: 'return null',
      },
    ],
    killedBy: [suite('an expired call has the exact result, its resolution and a wake-up')],
  },
  {
    name: 'sqlite: an expiry wakes a dormant fork',
    edits: [
      {
        file: 'src/store/sqlite/conversations.ts',
        find: "return isDormant ? null : { wakeAt: now, isDormant, status: 'active' }",
        replace: "return { wakeAt: now, isDormant, status: 'active' }",
      },
    ],
    killedBy: [suite('an expiry in a fork is recorded and does not wake it')],
  },
  {
    name: 'sqlite: the same holder gets the same epoch again',
    edits: [
      {
        file: 'src/store/sqlite/leases.ts',
        find: 'epoch: () => nextEpoch(db)',
        replace: 'epoch: () => (found.lease?.holder === holder ? found.lease.epoch : nextEpoch(db))',
      },
    ],
    killedBy: [suite('epochs come from one counter of the whole store and grow with each acquisition')],
  },
  {
    name: 'sqlite: a call expires a second early',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'call.expiresAt !== null && call.expiresAt <= now\n',
        replace: 'call.expiresAt !== null && call.expiresAt <= now + 1000\n',
      },
      {
        file: 'src/store/sqlite/events.ts',
        find: "       WHERE calls.status = 'pending' AND calls.expires_at <= ? ORDER BY calls.expires_at LIMIT ?`,\n      now,",
        replace:
          "       WHERE calls.status = 'pending' AND calls.expires_at <= ? ORDER BY calls.expires_at LIMIT ?`,\n      now + 1000,",
      },
    ],
    killedBy: [suite('a call never expires early, and only once')],
  },
  {
    name: 'sqlite: a blob goes with its conversation though it was just put again',
    edits: [
      { file: 'src/store/sqlite/records.ts', find: 'WHERE blobs.bid = ? AND pins = 0', replace: 'WHERE blobs.bid = ?' },
    ],
    killedBy: [suite('a blob that was put again waits for its second event'), reference],
  },
  {
    name: 'sqlite: a commit that wakes a conversation forgets the lease it takes or gives back',
    edits: [
      {
        file: 'src/store/sqlite/conversations.ts',
        find: "if (woken && lease !== 'as it is') {",
        replace: "if (woken && lease !== 'as it is' && !woken) {",
      },
    ],
    killedBy: [suite('a commit may wake, give the lease back and take it, each with or without the others')],
  },
  {
    name: 'sqlite: what is given back cannot be taken in the same commit',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'const before = head && !releasesLease ? leaseIn(head) : null',
        replace: 'const before = head ? leaseIn(head) : null',
      },
    ],
    killedBy: [suite('a commit may wake, give the lease back and take it, each with or without the others')],
  },
  {
    name: 'sqlite: what is held and not due is not on the agenda',
    edits: [
      {
        file: 'src/store/sqlite/tables.ts',
        find: '(lease_holder, agent, tenant, wake_at) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL',
        replace: '(lease_holder, agent, tenant, wake_at) WHERE wake_at IS NOT NULL',
      },
    ],
    killedBy: [
      {
        file: 'src/store/sqlite/open-database.test.ts',
        test: 'what is due and what is held is found on the agenda, by several connections',
      },
    ],
  },
  {
    name: 'sqlite: what a dead holder had is never found',
    edits: [
      {
        file: 'src/store/sqlite/find-due.ts',
        find: 'lease_holder IS NOT NULL AND lease_until <= ?',
        replace: 'lease_holder IS NOT NULL AND lease_until <= ? - 1e12',
      },
    ],
    killedBy: [suite('a held conversation is not found until the lease has lapsed or is released')],
  },
  {
    name: 'sqlite: the log gets no room',
    edits: [{ file: 'src/store/sqlite/log-room.ts', find: 'if (bytes > this.#knownBytes)', replace: 'if (false)' }],
    killedBy: [room('the log of a young store grows a few times by much, not with each commit')],
  },
  {
    name: 'sqlite: room in the log is committed to the file',
    edits: [{ file: 'src/store/sqlite/log-room.ts', find: '    db.rollBack()\n', replace: "    db.run('COMMIT')\n" }],
    killedBy: [room('the log of a young store grows a few times by much, not with each commit')],
  },
  {
    name: 'sqlite: room is tried for again after the disk was full',
    edits: [{ file: 'src/store/sqlite/log-room.ts', find: 'this.#isDone = true\n', replace: '\n' }],
    killedBy: [room('a store without space for room continues without it')],
  },
]
