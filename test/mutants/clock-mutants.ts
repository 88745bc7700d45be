import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/clocks-of-stores.test.ts', test })
const conformance = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const watch = (test: string): Case => ({ file: 'src/store/lease.test.ts', test })

const died = story('back by 10 minutes: what a node left behind when it died is taken up by another')
const due = story('back by 10 minutes: what was due and had no node is taken up by one that starts afterwards')

/** Bugs in what is done about a store's clock that was put back. */
export const clockMutants: readonly Mutant[] = [
  {
    name: 'clocks: memory: leases of a clock that was ahead are not cut',
    edits: [
      {
        file: 'src/store/memory/memory-tables.ts',
        find: 'if (isTooLong) row.lease = { ...lease, until }',
        replace: '',
      },
    ],
    killedBy: [conformance('leaves a lease to a holder that renews it, and to no other for long')],
  },
  {
    name: 'clocks: memory: what was due is due when the clock has caught up',
    edits: [
      { file: 'src/store/memory/memory-tables.ts', find: 'if (wasDue && wakeAt > now) row.wakeAt = now', replace: '' },
    ],
    killedBy: [conformance('leaves due conversations due, and the others asleep')],
  },
  {
    name: 'clocks: memory: whatever sleeps is woken by a clock that was put back',
    edits: [
      {
        file: 'src/store/memory/memory-tables.ts',
        find: '(wakeAt <= columns.updatedAt || isTooLong',
        replace: '(wakeAt >= 0 || isTooLong',
      },
    ],
    killedBy: [conformance('leaves due conversations due, and the others asleep')],
  },
  {
    name: 'clocks: memory: a first query does not look for leases that are too long',
    edits: [
      {
        file: 'src/store/memory/memory-tables.ts',
        find: "(wakeAt <= columns.updatedAt || isTooLong || (isHeld && news === 'back'))",
        replace: "(wakeAt <= columns.updatedAt || (isHeld && news === 'back'))",
      },
    ],
    killedBy: [conformance('is noticed by a first query only from a lease that no process could have')],
  },
  {
    name: 'clocks: memory: a first query wakes whatever is held',
    edits: [
      {
        file: 'src/store/memory/memory-tables.ts',
        find: "(wakeAt <= columns.updatedAt || isTooLong || (isHeld && news === 'back'))",
        replace: '(wakeAt <= columns.updatedAt || isTooLong || isHeld)',
      },
    ],
    killedBy: [conformance('is not assumed by a first query that finds a lease of the usual length')],
  },
  {
    name: 'clocks: memory: what is held sleeps on until the clock has caught up',
    edits: [
      {
        file: 'src/store/memory/memory-tables.ts',
        find: "(wakeAt <= columns.updatedAt || isTooLong || (isHeld && news === 'back'))",
        replace: '(wakeAt <= columns.updatedAt || isTooLong)',
      },
    ],
    killedBy: [conformance('makes a held conversation due once its lease lapses, whenever it was to wake')],
  },
  {
    name: 'clocks: memory: a quarantine is cut as a lease',
    edits: [
      {
        file: 'src/store/memory/memory-tables.ts',
        find: ' && quarantineOf(row).quarantinedAt === null',
        replace: ' && quarantineOf(row).quarantinedAt !== 0',
      },
    ],
    killedBy: [conformance('leaves a quarantine as it is, and leases when no leaseMs is given')],
  },
  {
    name: 'clocks: sqlite: leases of a clock that was ahead are not cut',
    edits: [
      {
        file: 'src/store/sqlite/leases.ts',
        find: "if (isTooLong) db.run('UPDATE conversations SET lease_until = ? WHERE cid = ?', until, cid)",
        replace: 'if (isTooLong < 0) continue',
      },
    ],
    killedBy: [died],
  },
  {
    name: 'clocks: sqlite: what was due is due when the clock has caught up',
    edits: [
      {
        file: 'src/store/sqlite/leases.ts',
        find: "if (wasDue) db.run('UPDATE conversations SET wake_at = ? WHERE cid = ?', now, cid)",
        replace: 'if (wasDue < 0) continue',
      },
    ],
    killedBy: [due],
  },
  {
    name: 'clocks: postgres: leases of a clock that was ahead are not cut',
    edits: [
      {
        file: 'src/store/postgres/leases.ts',
        find: 'leased_until = CASE WHEN ${isTooLong} THEN n.now + $1::bigint ELSE c.leased_until END',
        replace: 'leased_until = c.leased_until',
      },
    ],
    killedBy: [died],
  },
  {
    name: 'clocks: postgres: what was due is due when the clock has caught up',
    edits: [
      {
        file: 'src/store/postgres/leases.ts',
        find: 'wake_at = CASE WHEN ${wasDue} THEN n.now ELSE c.wake_at END',
        replace: 'wake_at = c.wake_at',
      },
    ],
    killedBy: [due],
  },
  {
    name: 'clocks: a claim does not say how long its leases last',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: 'watchedNow(ttlMs)',
        replace: 'watchedNow(undefined)',
      },
    ],
    killedBy: [died],
  },
  {
    name: 'clocks: a clock that was put back is not noticed',
    edits: [
      {
        file: 'src/store/lease.ts',
        find: "return now < this.#last - toleranceMs ? 'back' : 'forward'",
        replace: "return now < toleranceMs - this.#last ? 'back' : 'forward'",
      },
    ],
    killedBy: [watch('a clock that was put back is noticed once, and the first query has nothing to compare with')],
  },
]
