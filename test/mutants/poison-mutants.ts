import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/quarantine.test.ts', test })
const claims = (test: string): Case => ({ file: 'src/engine/lease/claims.test.ts', test })

const counts = 'a claim counts the leases that lapsed without a release before it'
const forgets = 'the end of a turn, and a commit that releases the lease, forget the lapses'
const lifts = 'a quarantine that counts the lapse of a living holder is lifted'
const fifth = 'the fifth lapse in a row quarantines: no claim gets it, and it is not due'
const due = 'conversations with lapses are due up to the requested number, and all others'
const spares = 'a commit takes a lease with lapses unless suspects is false, and is written in any case'

/** Bugs in how a conversation that ends its processes is told from its neighbours. */
export const poisonMutants: readonly Mutant[] = [
  {
    name: 'poison: a lease that its own holder takes again counts as lapsed',
    edits: [
      {
        file: 'src/store/lease.ts',
        find: 'return current.holder !== holder && until <= now',
        replace: 'return until <= now',
      },
    ],
    killedBy: [memory('a lease that was released, or that its own holder claims again, did not lapse')],
  },
  {
    name: 'poison: a lapse counts however long after its claim it came',
    edits: [
      {
        file: 'src/store/lease.ts',
        find: ' && claimedAt !== null && until - claimedAt <= lapseWithinMs',
        replace: ' && claimedAt !== null && until - claimedAt <= 1_000 * lapseWithinMs',
      },
    ],
    killedBy: [memory('a lease that lapses more than five minutes after its claim is not counted')],
  },
  {
    name: 'poison: a sixth lapse is waited for',
    edits: [
      { file: 'src/store/lease.ts', find: 'export const mostLapses = 5', replace: 'export const mostLapses = 6' },
    ],
    killedBy: [memory(fifth), sqlite(fifth), postgres(fifth)],
  },
  {
    name: 'poison: memory: the end of a turn forgets no lapses',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: "type === 'turn_ended'",
        replace: "type === 'titled' && type.length > 9",
      },
    ],
    killedBy: [memory(forgets)],
  },
  {
    name: 'poison: sqlite: the end of a turn forgets no lapses',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: "forgetsLapses ? { ...before, lapsed: [] } : 'as it is'",
        replace: "'as it is'",
      },
    ],
    killedBy: [sqlite(forgets)],
  },
  {
    name: 'poison: postgres: the end of a turn forgets no lapses where it is committed alone',
    edits: [{ file: 'src/store/postgres/commit-change.ts', find: "${endsTurn ? 'lapsed = NULL,' : ''}", replace: '' }],
    killedBy: [postgres(forgets)],
  },
  {
    name: 'poison: postgres: the end of a turn forgets no lapses in a batch',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: "SELECT FROM unnest(e_change, e_type) e (change, type) WHERE e.type = 'turn_ended' AND NOT p_releases[e.change]",
        replace: "SELECT FROM unnest(e_type) e (type) WHERE e.type = 'nothing'",
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/commit-one.test.ts',
        test: 'the end of a turn, and what it makes of the lapses of the lease',
      },
    ],
  },
  {
    name: 'poison: postgres: lapses are not counted',
    edits: [
      {
        file: 'src/store/postgres/columns.ts',
        find: 'THEN array_append(c.lapsed, c.epoch)',
        replace: 'THEN c.lapsed',
      },
    ],
    killedBy: [postgres(counts)],
  },
  {
    name: 'poison: postgres: a commit takes what has lapses although it wants no suspects',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'AND (l.suspects IS NOT FALSE OR',
        replace: 'AND (l.suspects IS NOT NULL OR',
      },
    ],
    killedBy: [postgres(spares)],
  },
  {
    name: 'poison: postgres: a lapse that is taken back leaves the quarantine as it is',
    edits: [
      {
        file: 'src/store/postgres/leases.ts',
        find: 'leased_until = CASE WHEN ${isLifted} THEN 0 ELSE c.leased_until END',
        replace: 'leased_until = c.leased_until',
      },
    ],
    killedBy: [postgres(lifts)],
  },
  {
    name: 'poison: sqlite: all that has lapses is due, however few are asked for',
    edits: [
      {
        file: 'src/store/sqlite/find-due.ts',
        find: 'rows(`${isSuspect} IS TRUE`, suspects).slice(0, suspects)',
        replace: 'rows(`${isSuspect} IS TRUE`, limit)',
      },
    ],
    killedBy: [sqlite(due)],
  },
  {
    name: 'poison: a node takes all that has lapses at once',
    edits: [
      {
        file: 'src/engine/lease/claims.ts',
        find: 'return this.hasPlaceForSuspect ? this.#takeSuspect(ref, name) : null',
        replace: 'return this.#takeSuspect(ref, name)',
      },
    ],
    killedBy: [claims('of what has lapses one is held at a time, and the next when it is let go')],
  },
  {
    name: 'poison: one with lapses that works for hours keeps the others waiting',
    edits: [
      {
        file: 'src/engine/lease/claims.ts',
        find: 'this.#node.clock.after(lapseWithinMs, () => this.leave(ref))',
        replace: 'this.#node.clock.after(lapseWithinMs, () => {})',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/claims.test.ts',
        test: 'one with lapses that is held for 5 minutes makes place for the next: should the process end now, it is no lapse',
      },
    ],
  },
  {
    name: 'poison: a node that took what turned out to have no lapses takes none that has',
    edits: [
      {
        file: 'src/engine/lease/claims.ts',
        find: 'if (!taken || taken.lapses === 0) this.leave(ref)',
        replace: 'if (!taken) this.leave(ref)',
      },
    ],
    killedBy: [claims('what has no lapses any more when it is claimed takes no place')],
  },
  {
    name: 'poison: a process that lost its lease does not take its lapse back',
    edits: [
      {
        file: 'src/engine/lease/lease-keeper.ts',
        find: '      this.#lapsed.set(lease.epoch, lease.ref)\n',
        replace: '',
      },
    ],
    killedBy: [
      { file: 'test/stories/leases-lapsed.test.ts', test: 'a process that was only slow takes its lapse back' },
    ],
  },
  {
    name: 'poison: cancelling a quarantined conversation waits for a process',
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: "      failpoint('cancel.after_commit')\n      await cancelQuarantined(runtime, ref)\n",
        replace: "      failpoint('cancel.after_commit')\n",
      },
    ],
    killedBy: [story('is cancelled without any of its code, and stays quarantined')],
  },
  {
    name: 'poison: a quarantined child that is cancelled does not tell its parent',
    edits: [
      {
        file: 'src/runtime/cancel-quarantined.ts',
        find: 'if (events.length === 0) return tellParent(runtime, ref, state, record.agent)',
        replace: 'if (events.length === 0) return',
      },
    ],
    killedBy: [story('as a child agent is cancelled with its parent, which goes on')],
  },
  {
    name: 'poison: a message to a quarantined conversation is refused as busy',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: "given ?? (standing?.isQuarantined ? 'queue' : 'reject')",
        replace: "given ?? 'reject'",
      },
    ],
    killedBy: [story('takes messages, which queue, and goes on with all of them when a person has released it')],
  },
]
