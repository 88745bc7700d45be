import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const orphaned = (test: string): Case => ({ file: 'test/stories/leases-orphaned.test.ts', test })

const late = (test: string): Case => ({ file: 'test/stories/leases-late-start.test.ts', test })
const worker = (test: string): Case => ({ file: 'src/engine/lease/worker.test.ts', test })
const stopped = (test: string): Case => ({ file: 'test/faults/stopped-process.test.ts', test })

const keeps = 'leases that their holder knows are kept, lapsed or not; one it does not know is reported and lapses'
const repeats = 'a commit that took the lease has the same answer when it is repeated under its key'
const renews = 'a lease that a repeat returns lasts as long as the repeat asks for'
const tells = 'keeping leases reports lost ones, and how far the logs of the others have grown'

/** Bugs in how leases are taken, kept and given back. */
export const leaseMutants: readonly Mutant[] = [
  {
    name: 'leases: one that is being let go of is told of as lost',
    edits: [{ file: 'src/store/lease.ts', find: '.filter(({ epoch }) => !this.#beingLetGo.has(epoch))', replace: '' }],
    killedBy: [
      {
        file: 'src/store/released-leases.test.ts',
        test: 'a lease that a release has released is not reported as lost before the acknowledgement arrives',
      },
      {
        file: 'src/store/released-leases.test.ts',
        test: 'a lease that a commit that releases has released is not reported as lost before the acknowledgement arrives',
      },
    ],
  },
  {
    name: 'leases: memory: a renewal extends whatever is under the name of the holder',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: 'if (epochs.has(row.lease.epoch)) row.lease',
        replace: 'row.lease',
      },
    ],
    killedBy: [memory(keeps)],
  },
  {
    name: 'leases: sqlite: a renewal extends whatever is under the name of the holder',
    edits: [
      {
        file: 'src/store/sqlite/leases.ts',
        find: 'WHERE lease_holder = ? AND lease_epoch IN (SELECT value FROM json_each(?))',
        replace: 'WHERE lease_holder = ? AND ? IS NOT NULL',
      },
    ],
    killedBy: [sqlite(keeps)],
  },
  {
    name: 'leases: postgres: a renewal extends what another has taken since',
    edits: [
      {
        file: 'src/store/postgres/leases.ts',
        find: 'AND c.id = k.id AND c.epoch = k.epoch AND c.holder = $1',
        replace: 'AND c.id = k.id AND $1::text IS NOT NULL',
      },
    ],
    killedBy: [postgres(tells)],
  },
  {
    name: 'leases: a renewal does not tell of logs that have grown',
    edits: [
      {
        file: 'src/store/lease.ts',
        find: 'return lastSeq > seq ? [{ tenant, id, seq: lastSeq }] : []',
        replace: 'return lastSeq > seq + 1_000 ? [{ tenant, id, seq: lastSeq }] : []',
      },
    ],
    killedBy: [memory(tells), sqlite(tells)],
  },
  {
    name: 'leases: memory: a repeat under a key is not told of its lease',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: 'row.keys.set(change.key, { seq, digest: change.digest, epoch })',
        replace: 'row.keys.set(change.key, { seq, digest: change.digest, epoch: null })',
      },
    ],
    killedBy: [memory(repeats)],
  },
  {
    name: 'leases: sqlite: a repeat under a key is told of any lease of its holder',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'if (epoch === null || lease.epoch !== epoch) return outcome',
        replace: 'if (epoch === null) return outcome',
      },
    ],
    killedBy: [sqlite('a repeat returns no lease that was released, or taken otherwise since')],
  },
  {
    name: 'leases: postgres: a repeat is told of its lease, which is not renewed',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'UPDATE ${schema}.conversations c SET leased_until = v_now + l.ms\n',
        replace: 'UPDATE ${schema}.conversations c SET leased_until = c.leased_until + 0 * l.ms\n',
      },
    ],
    killedBy: [postgres(renews)],
  },
  {
    name: 'leases: postgres: a key is kept without the epoch of its lease where it is committed alone',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: "${takesLease ? 'made.epoch' : 'NULL'}",
        replace: 'NULL',
      },
    ],
    killedBy: [{ file: 'src/store/postgres/commit-one.test.ts', test: 'a known key that took the lease' }],
  },
  {
    name: 'leases: postgres: a commit that takes the lease without a key is not sent again',
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
        test: 'the result of a child agent whose answer is lost has its parent go on in the same process (postgres)',
      },
    ],
  },
  {
    name: 'leases: a node does not look for a lease whose acknowledgement it did not get',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: 'if (claiming === null) await this.#giveBack(strays, learned)',
        replace: 'if (claiming === null) await this.#giveBack([], learned)',
      },
    ],
    killedBy: [
      orphaned('a lease that is lost again and again is given back again and again, long before it would lapse'),
    ],
  },
  {
    name: 'leases: a node gives back a lease whose acknowledgement is on its way',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: 'if (isBeingTaken({ tenant, id })) {',
        replace: 'if (tenant === id && isBeingTaken({ tenant, id })) {',
      },
    ],
    killedBy: [orphaned('a lease whose acknowledgement is on its way is not taken for one that was lost')],
  },
  {
    name: 'leases: leases are not renewed while a runtime drains',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: '    const searching = this.#search.close()\n',
        replace: '    this.#leases.stop()\n    const searching = this.#search.close()\n',
      },
    ],
    killedBy: [
      { file: 'test/stories/leases-kept.test.ts', test: 'a runtime that drains for longer than its leases keeps them' },
    ],
  },
  {
    name: 'leases: the next renewal waits for the one before it, however long that takes',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: 'const mostUnderWay = 3',
        replace: 'const mostUnderWay = 1',
      },
    ],
    killedBy: [{ file: 'test/stories/leases-kept.test.ts', test: 'a renewal that is never answered costs no lease' }],
  },
  {
    name: 'leases: postgres: a renewal waits for a connection behind other statements',
    edits: [{ file: 'src/store/postgres/leases.ts', find: '    isUrgent: true,\n', replace: '' }],
    killedBy: [
      {
        file: 'src/store/postgres/urgent-statements.test.ts',
        test: 'leases are renewed while all that is left of the pool is in use',
      },
    ],
  },
  {
    name: 'leases: a tool starts without a look at the lease',
    edits: [{ file: 'src/engine/turn/tool-task.ts', find: 'if (!(await mayStart()) || isOver', replace: 'if (isOver' }],
    killedBy: [
      late('does not run a tool that another has reported as unknown by then'),
      stopped('starts nothing when it goes on: report, stopped at tool.before_run'),
    ],
  },
  {
    name: 'leases: a step of a flow starts without a look at the lease',
    edits: [
      {
        file: 'src/engine/flow/running-ops.ts',
        find: '(await this.#parts.mayStart(controller.signal)) ?',
        replace: 'this.#parts.mayStart ?',
      },
    ],
    killedBy: [late('does not run a step of a flow that another has gone on with')],
  },
  {
    name: 'leases: a renewal counts from its answer',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: 'else lease.renewed(askedAt)',
        replace: 'else lease.renewed(momentOf(clock))',
      },
    ],
    killedBy: [
      { file: 'src/engine/lease/lease-keeper.test.ts', test: 'a renewal that is answered late makes nothing certain' },
    ],
  },
  {
    name: 'leases: a lease is certain by the clock that stands still while the machine sleeps',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: ' && now.nowMs - askedAt.nowMs < leaseMs',
        replace: ' && now.nowMs > 0',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/lease-keeper.test.ts',
        test: 'a lease is not certain after the machine slept, also where the clock that never goes back stood still meanwhile',
      },
    ],
  },
  {
    name: 'leases: a lease is certain by the time of day',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: 'now.monotonicMs - askedAt.monotonicMs < leaseMs && ',
        replace: 'askedAt.monotonicMs <= now.monotonicMs && ',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/lease-keeper.test.ts',
        test: 'setting the time of day back does not make a lease last longer',
      },
    ],
  },
  {
    name: 'leases: a lease that was left alone while its conversation was being taken waits for the next renewal',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: 'if (!this.#hasPostponed) return',
        replace: 'if (this.#hasPostponed || !this.#hasPostponed) return',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/leases-orphaned.test.ts',
        test: 'a lease that is lost again and again is given back again and again, long before it would lapse',
      },
    ],
  },
  {
    name: 'leases: work that brought its lease claims another',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'void this.take(ref, name, isOver ? null : lease, expected.hintedSeq)',
        replace: 'void this.take(ref, name, null, expected.hintedSeq)',
      },
    ],
    killedBy: [worker('that a commit gave with its lease is worked on under that lease')],
  },
  {
    name: 'leases: a commit that was repeated works once more under the lease of the first',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'lease.epoch <= expected.startedEpoch',
        replace: 'lease.epoch < expected.startedEpoch',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/turns-key.test.ts',
        test: 'a message that was sent twice at once is not answered again by the one that hears of its commit last',
      },
    ],
  },
  {
    name: 'leases: only leases that came with a commit count as worked under',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'if (expected) expected.startedEpoch = Math.max(expected.startedEpoch, entry.lease.epoch)',
        replace:
          'if (expected && brought.known) expected.startedEpoch = Math.max(expected.startedEpoch, entry.lease.epoch)',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/turns-key.test.ts',
        test: 'nor is one with a file, whose second send claims the conversation anew',
      },
    ],
  },
  {
    name: 'leases: a lease that came with a commit is worked under however late it is heard of',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: ' || !this.#leases.isCertain(lease))',
        replace: ')',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/turns-key.test.ts',
        test: 'a message whose commit is heard of after its lease is over is not answered by two processes',
      },
    ],
  },
  {
    name: 'leases: a commit that failed and had asked for the lease does not look for it',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'if (askedAt) this.#leases.lookForStrays()',
        replace: 'if (!ref) this.#leases.lookForStrays()',
      },
    ],
    killedBy: [worker('whose commit was refused is looked for, not taken')],
  },
  {
    name: 'leases: an owner goes on although the store says that another node has the lease',
    edits: [
      {
        file: 'src/engine/log-owner.ts',
        find: '    if (!result.ok) this.#loseToAnother()\n    return result\n',
        replace: '    return result\n',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/flow/flow-owner-failures.test.ts',
        test: 'a proof that another node has the session lets nothing run',
      },
      {
        file: 'src/engine/turn/owner.test.ts',
        test: 'a proof that fails is made again, and one that another node has the conversation lets nothing run',
      },
    ],
  },
]
