import { afterEach, expect, test, vi } from 'vitest'
import type { settle } from '../../src/log/settle.ts'
import type { ConversationState } from '../../src/log/state.ts'
import { crashesAt } from './campaign.ts'
import type { Plan } from './plan.ts'
import { expectMissed, problemsOf } from './problems-of.ts'
import { scenarios } from './scenarios/all-scenarios.ts'
import { simulate } from './simulate.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Each rule that is switched off must break a promise: otherwise the simulator would not see it missing. */

const off = vi.hoisted(() => ({ idempotence: false, report: false, force: false }))

afterEach(() => {
  off.idempotence = false
  off.report = false
  off.force = false
})

vi.mock('../../src/log/settle.ts', async (original) => {
  const real = await original<{ settle: typeof settle }>()
  let n = 0
  const forgetful: typeof settle = (state, outcome) =>
    real.settle(state, outcome.type === 'message' ? { ...outcome, messageId: `${outcome.messageId}-${++n}` } : outcome)
  return {
    ...real,
    settle: (...args: Parameters<typeof settle>) => (off.idempotence ? forgetful : real.settle)(...args),
  }
})

vi.mock('../../src/log/next-step.ts', async (original) => {
  const real = await original<typeof import('../../src/log/next-step.ts')>()
  return {
    ...real,
    nextStep: (state: ConversationState, running: ReadonlySet<string>) =>
      real.nextStep(off.report ? alwaysRerun(state) : state, running),
  }
})

vi.mock('../../src/log/superseded.ts', async (original) => {
  const real = await original<typeof import('../../src/log/superseded.ts')>()
  return {
    ...real,
    unrepeatable: (...args: Parameters<typeof real.unrepeatable>) => (off.force ? [] : real.unrepeatable(...args)),
  }
})

function alwaysRerun(state: ConversationState): ConversationState {
  const turns = state.turns.map((turn) => ({
    ...turn,
    calls: turn.calls.map((call) => ({ ...call, ifInterrupted: 'rerun' as const })),
  }))
  return { ...state, turns }
}

const only = (...names: string[]): Pick<Plan, 'scenarios'> => ({
  scenarios: scenarios.filter(({ name }) => names.includes(name)),
})

const upTo = (most: number): number[] => Array.from({ length: most }, (_, index) => index + 1)

async function crashEverywhere(alone: Pick<Plan, 'scenarios'>): Promise<Plan[]> {
  const { lives } = await simulate(alone)
  return crashesAt(lives[0]!).map((crash) => ({ ...alone, crashes: [crash] }))
}

test('commits that do not name their seq overlook a cancel', async () => {
  const plans = upTo(12).map((step) => ({ ...only('plain'), foreign: [{ action: 'cancel' as const, step }] }))
  await expectMissed('an owner names the seq it decided on', plans, /was cancelled and reads otherwise/)
})

test('commits that do not name their seq leave a message unanswered', async () => {
  const plans = upTo(12).map((step) => ({ ...only('plain'), foreign: [{ action: 'steer' as const, step }] }))
  await expectMissed('an owner names the seq it decided on', plans, /completed without an answer to a message/)
})

test('an owner that does not name its epoch writes into what others do', async () => {
  const plans = upTo(9).flatMap((step) =>
    [1, 4, 10, 12, 14].map((steps) => ({ ...only('parallel-tools'), stall: { step, steps } })),
  )
  await expectMissed('an owner names its epoch', plans, /is marked as unknown and was not interrupted/)
})

test('a key that is not checked doubles a message after a crash', async () => {
  const plans = await crashEverywhere(only('plain'))
  await expectMissed('a key is taken once', plans, /the message with key 'say hello' is in the log 2 times/)
})

test('a round without a guard is resolved twice', async () => {
  const plans = upTo(14).map((step) => ({ ...only('approved'), foreign: [{ action: 'answer' as const, step }] }))
  await expectMissed('a round is resolved once', plans, /resolution 1 of .* is in the log 2 times/)
})

test('a start that is not durable leaves an unknown run', async () => {
  const plans = [1, 2].map((nth) => ({
    ...only('approved', 'tools-one-by-one'),
    crashes: [{ failpoint: 'tool.after_run' as const, nth }],
  }))
  await expectMissed('a start is durable before its tool runs', plans, /ran 1 times and was started 0 times/)
})

test('an answer that is acknowledged before it is durable is lost', async () => {
  const everywhere = await crashEverywhere(only('approved', 'tools-one-by-one'))
  const plans = everywhere.filter(({ crashes }) => crashes?.[0]?.failpoint.startsWith('model.'))
  await expectMissed('what is told is durable', plans, /a client was told what is not so: .*answered/)
})

test('an answer that does not wake leaves its conversation lying', async () => {
  const crashes = [{ failpoint: 'resolve.after_commit' as const, nth: 1 }]
  await expectMissed('an answer wakes the conversation', [{ ...only('approved'), crashes }], /never came to rest/)
})

test('settling that is not idempotent says a message twice when an answer of the store is lost', async () => {
  const plans = upTo(8).map((write) => ({ ...only('tools-one-by-one'), failures: [{ write, isMade: true }] }))
  expect(await problemsOf(plans)).toBe('')
  off.idempotence = true
  expect(await problemsOf(plans)).toMatch(/call .* is in the log 2 times/)
})

test('a call that is always run again pays twice', async () => {
  const plans = [{ ...only('approved'), crashes: [{ failpoint: 'tool.after_run' as const, nth: 1 }] }]
  expect(await problemsOf(plans)).toBe('')
  off.report = true
  expect(await problemsOf(plans)).toMatch(/attempt 2: it must not run twice/)
})

test('an edit that is taken without force refunds twice', async () => {
  const plans = [only('not-tried-again')]
  expect(await problemsOf(plans)).toBe('')
  off.force = true
  const problems = await problemsOf(plans)
  expect(problems).toMatch(/refund was started, and its turn was replaced unforced/)
  expect(problems).toMatch(/refund had 2 effects in variants of one turn, 0 of them forced/)
})
