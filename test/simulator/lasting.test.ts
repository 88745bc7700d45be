import { afterEach, expect, test, vi } from 'vitest'
import type { SkippedConversation } from '../../src/store/claim-due.ts'
import type { ConversationRef } from '../../src/store/records.ts'
import type { Plan } from './plan.ts'
import { problemsOf } from './problems-of.ts'
import { scenarios } from './scenarios/all-scenarios.ts'
import { childScenarios } from './scenarios/child-scenarios.ts'
import { simulate } from './simulate.ts'

vi.setConfig({ testTimeout: 120_000 })

/** A store that fails for long, for one conversation or for all. Each rule that is switched off must be missed. */

const off = vi.hoisted(() => ({ pauses: false, aside: false, takingUp: false, search: false }))

afterEach(() => {
  for (const name of ['pauses', 'aside', 'takingUp', 'search'] as const) off[name] = false
})

vi.mock('../../src/base/clock.ts', async (original) => {
  const real = await original<typeof import('../../src/base/clock.ts')>()
  class Backoff extends real.Backoff {
    override get waitMs(): number {
      return off.pauses ? 0 : super.waitMs
    }
  }
  return { ...real, Backoff }
})

vi.mock('../../src/engine/lease/skipped-conversations.ts', async (original) => {
  const real = await original<typeof import('../../src/engine/lease/skipped-conversations.ts')>()
  class SkippedConversations extends real.SkippedConversations {
    readonly #failed = new Set<string>()

    override retryLater(ref: ConversationRef, error: unknown): void {
      this.#failed.add(ref.id)
      super.retryLater(ref, error)
    }
    override has(ref: ConversationRef, lastSeq: number): boolean {
      if (off.takingUp && this.#failed.has(ref.id)) return true
      return !off.aside && super.has(ref, lastSeq)
    }
    override toSkip(): SkippedConversation[] {
      return off.search || off.aside ? [] : super.toSkip()
    }
  }
  return { ...real, SkippedConversations }
})

const [plain, ...others] = scenarios
const named = (name: string) => [...others, ...childScenarios].find((scenario) => scenario.name === name)!

/** The store fails for one conversation, or for all, beside another. */
function failing(name: string, given: Partial<NonNullable<Plan['outage']>>): Plan {
  const outage = { of: `c-${name}`, after: 1, forMs: 8_000, isLasting: false, ...given }
  return { scenarios: [named(name), plain!], outage }
}

const each = ['tools-one-by-one', 'approved', 'delegated']

for (const isLasting of [false, true]) {
  const what = isLasting ? 'says that it will go on failing' : 'fails again and again'

  test(`a store that ${what} for one conversation is asked with growing pauses, and the turn ends once it is well`, async () => {
    for (const name of each) {
      for (const after of [0, 2]) {
        for (const of of [`c-${name}`, 'everything', 'children']) {
          const plan = failing(name, { of, after, isLasting })
          const { problems, refused } = await simulate(plan)
          expect(problems).toEqual([])
          expect(refused > 0 || (of === 'children' && name !== 'delegated')).toBe(true)
        }
      }
    }
  })

  test(`a conversation for which a store ${what} for good is told of, and the others go on`, async () => {
    const plans = each.map((name) => failing(name, { forMs: null, isLasting }))
    expect(await problemsOf(plans)).toBe('')
  })
}

test('a store that is asked again without a pause is asked without end', async () => {
  const plan = failing('tools-one-by-one', {})
  off.pauses = true
  expect(await problemsOf([plan])).toMatch(/without a pause|goes round in circles/)
})

test('a conversation that is not set aside is taken up again and again', async () => {
  off.aside = true
  expect(await problemsOf([failing('tools-one-by-one', { isLasting: true })])).toMatch(/without a pause/)
})

test('a conversation that stays aside for ever does not go on once the store is well', async () => {
  off.takingUp = true
  expect(await problemsOf([failing('tools-one-by-one', { isLasting: true })])).toMatch(/never came to rest/)
})

test('a conversation that is set aside and counted among those that are looked for hides the others', async () => {
  const plan = { ...failing('tools-one-by-one', { isLasting: true, forMs: null }), room: 1 }
  expect(await problemsOf([plan])).toBe('')
  off.search = true
  expect(await problemsOf([plan])).toMatch(/plain stood still while the store failed for another/)
})
