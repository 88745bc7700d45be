import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/stores/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/stores/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/stores/postgres/postgres-store.test.ts', test })
const orphaned = (test: string): Case => ({ file: 'test/stories/leases-orphaned.test.ts', test })

const keeps = 'leases that their holder knows are kept, lapsed or not, and one it does not know is told of and lapses'
const repeats = 'a commit that took the lease has the same answer when it is repeated under its key'
const renews = 'a lease that a repeat is told of lasts as long as the repeat asks for'
const tells = 'keeping leases tells what was lost, and how far the logs of the others have grown'

/** Bugs in how leases are taken, kept and given back. */
export const leaseMutants: readonly Mutant[] = [
  {
    name: 'memory: a renewal extends whatever is under the name of the holder',
    edits: [
      {
        file: 'src/stores/memory/memory-driver.ts',
        find: 'if (epochs.has(row.lease.epoch)) row.lease',
        replace: 'row.lease',
      },
    ],
    killedBy: [memory(keeps)],
  },
  {
    name: 'sqlite: a renewal extends whatever is under the name of the holder',
    edits: [
      {
        file: 'src/stores/sqlite/leases.ts',
        find: 'WHERE lease_holder = ? AND lease_epoch IN (SELECT value FROM json_each(?))',
        replace: 'WHERE lease_holder = ? AND ? IS NOT NULL',
      },
    ],
    killedBy: [sqlite(keeps)],
  },
  {
    name: 'postgres: a renewal extends what another has taken since',
    edits: [
      {
        file: 'src/stores/postgres/leases.ts',
        find: 'AND c.id = k.id AND c.epoch = k.epoch AND c.holder = $1',
        replace: 'AND c.id = k.id AND $1::text IS NOT NULL',
      },
    ],
    killedBy: [postgres(tells)],
  },
  {
    name: 'a renewal does not tell of logs that have grown',
    edits: [
      {
        file: 'src/store/lease-news.ts',
        find: 'return lastSeq > seq ? [{ tenant, id, seq: lastSeq }] : []',
        replace: 'return lastSeq > seq + 1_000 ? [{ tenant, id, seq: lastSeq }] : []',
      },
    ],
    killedBy: [memory(tells), sqlite(tells)],
  },
  {
    name: 'memory: a repeat under a key is not told of its lease',
    edits: [
      {
        file: 'src/stores/memory/commit-change.ts',
        find: 'row.keys.set(change.key, { seq, digest: change.digest, epoch })',
        replace: 'row.keys.set(change.key, { seq, digest: change.digest, epoch: null })',
      },
    ],
    killedBy: [memory(repeats)],
  },
  {
    name: 'sqlite: a repeat under a key is told of any lease of its holder',
    edits: [
      {
        file: 'src/stores/sqlite/commit-change.ts',
        find: 'if (epoch === null || head.leaseEpoch !== epoch || head.leaseHolder !== acquires.holder) return outcome',
        replace: 'if (epoch === null || head.leaseHolder !== acquires.holder) return outcome',
      },
    ],
    killedBy: [sqlite('a repeat is not told of a lease that was let go, or taken otherwise since')],
  },
  {
    name: 'postgres: a repeat is told of its lease, which is not renewed',
    edits: [
      {
        file: 'src/stores/postgres/migrations/002-create-commit-function.ts',
        find: 'UPDATE ${schema}.conversations c SET leased_until = v_now + l.ms\n',
        replace: 'UPDATE ${schema}.conversations c SET leased_until = c.leased_until + 0 * l.ms\n',
      },
    ],
    killedBy: [postgres(renews)],
  },
  {
    name: 'postgres: a key is kept without the epoch of its lease where it is committed alone',
    edits: [
      {
        file: 'src/stores/postgres/commit-one.ts',
        find: "${takesLease ? 'made.epoch' : 'NULL'}",
        replace: 'NULL',
      },
    ],
    killedBy: [{ file: 'src/stores/postgres/commit-one.test.ts', test: 'a known key that took the lease' }],
  },
  {
    name: 'postgres: a commit that takes the lease without a key is not sent again',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: 'return resendKey ?? (acquire ? `acquire/${uuidV7()}` : null)',
        replace: 'return resendKey ?? (acquire && uuidV7() === "" ? "never" : null)',
      },
    ],
    killedBy: [
      {
        file: 'test/faults/lost-lease.test.ts',
        test: 'the result of a child agent whose answer is lost has its parent go on in the same process',
      },
    ],
  },
  {
    name: 'a node does not look for a lease whose acknowledgement it did not get',
    edits: [
      {
        file: 'src/runtime/lease-keeper.ts',
        find: '      await this.#giveBack(strays)\n',
        replace: '      if (strays.length > 1_000) await this.#giveBack(strays)\n',
      },
    ],
    killedBy: [
      orphaned('a lease that is lost again and again is given back again and again, long before it would lapse'),
    ],
  },
  {
    name: 'a node gives back a lease whose acknowledgement is on its way',
    edits: [
      {
        file: 'src/runtime/lease-keeper.ts',
        find: 'if (isBeingTaken({ tenant, id })) {',
        replace: 'if (tenant === id && isBeingTaken({ tenant, id })) {',
      },
    ],
    killedBy: [orphaned('a lease whose acknowledgement is on its way is not taken for one that was lost')],
  },
  {
    name: 'leases are not renewed while a runtime drains',
    edits: [
      {
        file: 'src/runtime/worker.ts',
        find: '    this.#isClosed = true\n    for (const cancel of this.#cancelTimers) cancel()\n',
        replace:
          '    this.#isClosed = true\n    this.#leases.stop()\n    for (const cancel of this.#cancelTimers) cancel()\n',
      },
    ],
    killedBy: [
      { file: 'test/stories/leases-kept.test.ts', test: 'a runtime that drains for longer than its leases keeps them' },
    ],
  },
  {
    name: 'the next renewal waits for the one before it, however long that takes',
    edits: [
      {
        file: 'src/runtime/lease-keeper.ts',
        find: 'const mostUnderWay = 3',
        replace: 'const mostUnderWay = 1',
      },
    ],
    killedBy: [{ file: 'test/stories/leases-kept.test.ts', test: 'a renewal that is never answered costs no lease' }],
  },
  {
    name: 'postgres: a renewal waits for a connection behind other statements',
    edits: [{ file: 'src/stores/postgres/leases.ts', find: '    isUrgent: true,\n', replace: '' }],
    killedBy: [
      {
        file: 'src/stores/postgres/urgent-statements.test.ts',
        test: 'leases are renewed while all that is left of the pool is in use',
      },
    ],
  },
]
