import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/limits-turns.test.ts', test })
const budgets = (test: string): Case => ({ file: 'test/stories/limits-budgets.test.ts', test })
const gate = 'src/engine/limits/model-gate.ts'
const unit = (test: string): Case => ({ file: 'src/engine/limits/model-gate.test.ts', test })
const budget = (test: string): Case => ({ file: 'src/store/budget.test.ts', test })

export const limitsMutants: readonly Mutant[] = [
  {
    name: 'limits: one more than the limit of a tenant',
    edits: [{ file: 'src/store/slots.ts', find: 'held.tenant >= tenant', replace: 'held.tenant > tenant' }],
    killedBy: [memory('are reached by the live leases of a tenant, an agent or an account, and by no others')],
  },
  {
    name: 'limits: children wait for a slot, on SQLite',
    edits: [
      {
        file: 'src/store/sqlite/slots.ts',
        find: '"(terminating = 1 OR child_of IS NOT NULL OR kind = \'flow\')"',
        replace: '"(terminating = 1 OR kind = \'flow\')"',
      },
    ],
    killedBy: [sqlite('children and turns that are being cancelled pass, until the turn has ended')],
  },
  {
    name: 'limits: a turn that has ended still passes',
    edits: [{ file: 'src/store/slots.ts', find: "last.type === 'cancel_requested' : null", replace: 'true : null' }],
    killedBy: [memory('children and turns that are being cancelled pass, until the turn has ended')],
  },
  {
    name: 'limits: claims on Postgres do not wait for each other',
    edits: [
      {
        file: 'src/store/postgres/limit-tables.ts',
        find: '`PERFORM pg_advisory_xact_lock(hashtextextended(',
        replace: '`PERFORM (hashtextextended(',
      },
    ],
    killedBy: [postgres('are kept by stores that claim at the same time')],
  },
  {
    name: 'limits: the search begins with the same tenant each time',
    edits: [{ file: 'src/store/fair-search.ts', find: 'this.#last = tenant', replace: '' }],
    killedBy: [memory('goes round where there are more tenants than places')],
  },
  {
    name: 'limits: a slot that becomes free is not looked for',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: 'this.#node.turnLimits?.isLimited(name) ?? false',
        replace: 'false',
      },
    ],
    killedBy: [
      story('a tenant runs as many turns at once as it may; the others wait, are recorded, and go on when one ends'),
    ],
  },
  {
    name: 'budgets: a long wait keeps the lease',
    edits: [
      {
        file: 'src/engine/limits/model-gate.ts',
        find: 'longestHeldWaitMs = 1_000',
        replace: 'longestHeldWaitMs = 1_000_000',
      },
    ],
    killedBy: [budgets('a call that the minute has no room for is put off, without a lease, and made when there is')],
  },
  {
    name: 'budgets: a call is accounted for as often as it is asked about',
    edits: [{ file: gate, find: 'if (this.#reserved !== null) return 0', replace: 'void this.#reserved' }],
    killedBy: [unit('a call that may be made is accounted for once, however often it is asked about before it begins')],
  },
  {
    name: 'budgets: what a call did not use is given back twice',
    edits: [{ file: gate, find: 'if (isOver) return', replace: 'void isOver' }],
    killedBy: [unit('what a call did not use is given back, once')],
  },
  {
    name: 'budgets: an answer without usage is free',
    edits: [{ file: gate, find: "told ?? (status === 'ok' ? taken.tokens : 0)", replace: 'told ?? 0' }],
    killedBy: [
      unit('a call of which the provider reports no usage counts as estimated if it was answered, else as nothing'),
    ],
  },
  {
    name: 'budgets: what was used beyond a slice is not told',
    edits: [
      {
        file: gate,
        find: '(slice.requests < 0 || slice.tokens < 0) && this',
        replace: '(slice.requests < -1e9) && this',
      },
    ],
    killedBy: [unit('what was used beyond the slice is told at once, without a call that follows')],
  },
  {
    name: 'budgets: a call larger than the budget never begins',
    edits: [{ file: gate, find: 'Math.min(tokens, this.#limits.tokens)', replace: 'tokens' }],
    killedBy: [unit('a call that needs more than a whole minute has may take all of it')],
  },
  {
    name: 'budgets: refusals are counted past an answer',
    edits: [{ file: gate, find: 'if (isAnswered) this.#putOff.delete(this.#key)', replace: 'void isAnswered' }],
    killedBy: [unit('a turn is put off as often as its agent retries, and anew after an answer')],
  },
  {
    name: 'budgets: an agent waits although it has another model',
    edits: [{ file: gate, find: 'fallbackModels.length === 0 && ', replace: '' }],
    killedBy: [unit('an agent with another model to try is not put off, and neither is a wait of a second')],
  },
  {
    name: 'budgets: a provider that always refuses is asked for ever',
    edits: [
      {
        file: 'src/engine/limits/model-gate.ts',
        find: '(this.#putOff.get(this.#key) ?? 0) < retry.maxAttempts',
        replace: 'true',
      },
    ],
    killedBy: [budgets('a provider that refuses again and again ends the turn')],
  },
  {
    name: 'budgets: a second pause shortens the first',
    edits: [
      {
        file: 'src/store/budget.ts',
        find: 'Math.max(current.pausedUntil, now + Math.min(forMs, longestPauseMs))',
        replace: 'now + Math.min(forMs, longestPauseMs)',
      },
    ],
    killedBy: [budget('a pause holds until it is over, is never shortened, and is at most ten minutes')],
  },
  {
    name: 'budgets: the minute before is forgotten',
    edits: [{ file: 'src/store/budget.ts', find: 'isNext ? budget.spent : nothing()', replace: 'nothing()' }],
    killedBy: [budget('counts the minute before by its share of the last 60 seconds, and says when there is enough')],
  },
  {
    name: 'budgets: a clock that is put back pauses an account for as long',
    edits: [
      {
        file: 'src/store/budget.ts',
        find: 'Math.min(known.pausedUntil, now + longestPauseMs)',
        replace: 'known.pausedUntil',
      },
    ],
    killedBy: [budget('a pause holds until it is over, is never shortened, and is at most ten minutes')],
  },
]
