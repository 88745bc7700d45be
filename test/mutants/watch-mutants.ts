import type { Case, Mutant } from './mutant.ts'

const poll = (test: string): Case => ({ file: 'src/engine/live/log-poll.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/live-lost-hints.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const quarantined = 'are those that are quarantined, for watchers that gave a status'
const begunAnew = 'are those that were deleted and created again, though they are as long'

/** Bugs in how logs that are watched are polled. */
export const watchMutants: readonly Mutant[] = [
  {
    name: 'polling does not become rarer, however much is watched',
    edits: [
      {
        file: 'src/engine/live/log-poll.ts',
        find: 'Math.max(1, watchers.length / logsPerPoll)',
        replace: 'Math.max(1, 0 * logsPerPoll)',
      },
    ],
    killedBy: [poll('10000 idle logs are asked about 2 times in 20 seconds')],
  },
  {
    name: 'nothing is polled at once where hints come again',
    edits: [
      {
        file: 'src/store/postgres/hints.ts',
        find: 'if (this.#hasListened) this.#onMissed()',
        replace: '',
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/hint-channel.test.ts',
        test: 'a connection that broke is tried again after longer and longer pauses, which begin anew once it is back',
      },
    ],
  },
  {
    name: 'hints that come while logs are polled are not followed by another poll',
    edits: [
      {
        file: 'src/engine/live/log-poll.ts',
        find: 'this.#pollsAgain = this.#isPolling',
        replace: 'this.#pollsAgain = false',
      },
    ],
    killedBy: [
      poll(
        'where hints were lost and come again all logs are asked about at once, and once more where that was under way',
      ),
    ],
  },
  {
    name: 'everybody who watches looks when one log has moved',
    edits: [
      {
        file: 'src/engine/live/log-poll.ts',
        find: 'watchers.filter(({ tenant, id }) => keys.has(conversationKey(tenant, id)))',
        replace: 'watchers.filter(() => keys.size > 0)',
      },
    ],
    killedBy: [poll('only those who watch a log that has moved look at it')],
  },
  {
    name: 'a store that fails once is not polled again',
    edits: [
      {
        file: 'src/engine/live/log-poll.ts',
        find: "this.#warn('logs that are watched could not be polled; trying again', { error })",
        replace:
          "this.#isStopped = true\n      this.#warn('logs that are watched could not be polled; trying again', { error })",
      },
    ],
    killedBy: [poll('a store that fails is asked again, and that is told once')],
  },
  {
    name: 'those who watch a conversation are not polled for',
    edits: [
      {
        file: 'src/runtime/create-runtime.ts',
        find: '() => [...channels.watchers(), ...hints.watchers()]',
        replace: '() => [...hints.watchers()]',
      },
    ],
    killedBy: [story('tells what another process wrote, and that a log is another one')],
  },
  {
    name: 'those who wait for a session are not polled for',
    edits: [
      {
        file: 'src/runtime/create-runtime.ts',
        find: '() => [...channels.watchers(), ...hints.watchers()]',
        replace: '() => [...channels.watchers()]',
      },
    ],
    killedBy: [story('tells how a session stands that another process works on')],
  },
  {
    name: 'in memory, a log that was begun anew counts as the one that was deleted',
    edits: [{ file: 'src/store/memory/memory-store.ts', find: 'row?.events[seq - 1]?.at === at', replace: 'at > 0' }],
    killedBy: [memory(begunAnew)],
  },
  {
    name: 'in SQLite, a log that was begun anew counts as the one that was deleted',
    edits: [
      {
        file: 'src/store/sqlite/leases.ts',
        find: 'AND seq = k.seq) <> k.at)',
        replace: 'AND seq = k.seq) < k.at)',
      },
    ],
    killedBy: [sqlite(begunAnew)],
  },
  {
    name: 'in Postgres, a log that was begun anew counts as the one that was deleted',
    edits: [{ file: 'src/store/postgres/leases.ts', find: 'e.at IS DISTINCT FROM k.at', replace: 'e.at < k.at' }],
    killedBy: [postgres(begunAnew)],
  },
  {
    name: 'in memory, a quarantine moves no watcher',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: '(row?.columns.status === status && quarantineOf(row).quarantinedAt === null)',
        replace: 'row?.columns.status === status',
      },
    ],
    killedBy: [memory(quarantined)],
  },
  {
    name: 'in SQLite, a quarantine moves no watcher',
    edits: [
      {
        file: 'src/store/sqlite/leases.ts',
        find: '(conversations.status IS NOT k.status OR ${isQuarantined})',
        replace: '(conversations.status IS NOT k.status OR ${isQuarantined} AND false)',
      },
    ],
    killedBy: [sqlite(quarantined)],
  },
  {
    name: 'in Postgres, a quarantine moves no watcher',
    edits: [
      {
        file: 'src/store/postgres/leases.ts',
        find: '(c.status IS DISTINCT FROM k.status OR ${isQuarantined})',
        replace: '(c.status IS DISTINCT FROM k.status OR ${isQuarantined} AND false)',
      },
    ],
    killedBy: [postgres(quarantined)],
  },
]
