import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../base/clock.ts'
import { defineAgent } from '../../define/define-agent.ts'
import type { Usage } from '../../log/events.ts'
import { emptyState } from '../../log/state.ts'
import type { Accounts, Borrowed, BorrowRequest } from '../../store/accounts.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { type ModelGate, ModelGates } from './model-gate.ts'

type Given = {
  readonly accounts?: { readonly requestsPerMinute?: number; readonly tokensPerMinute?: number }
  readonly hasFallback?: boolean
  /** What the store answers. Default: it grants two requests and 2,000 tokens. */
  readonly lend?: (request: BorrowRequest) => Borrowed
}

const granted = { type: 'granted', requests: 2, tokens: 2_000, minute: 1, forMs: 60_000 } as const

/** The gate of one conversation whose agent has an account, with what was borrowed for it. `pass` lets time pass. */
function openGate({ accounts = {}, hasFallback = false, lend = () => granted }: Given = {}) {
  let nowMs = 0
  const clock: Clock = { ...systemClock, now: () => nowMs, monotonic: () => nowMs }
  const borrowed: BorrowRequest[] = []
  const pauses: number[] = []
  const store: Accounts = {
    borrow: async (request) => {
      borrowed.push(request)
      return lend(request)
    },
    pause: async (_, forMs) => void pauses.push(forMs),
    held: async () => ({ tenant: 0, agent: 0, account: 0, isHeld: false }),
  }
  const model = scriptedModel([])
  const agent = defineAgent({
    ...{ name: 'desk', model, account: 'openai', retry: { maxAttempts: 2 } },
    ...(hasFallback ? { fallbackModels: [model] } : {}),
  })
  const parts = { accounts: store, clock, warnOfStore: () => {} }
  const gates = new ModelGates({ accounts: { openai: accounts } }, [agent], parts)
  const gate = gates.of(agent, { tenant: 'acme', id: 'c' })!
  return { gate, borrowed, pauses, pass: (ms: number) => void (nowMs += ms) }
}

/** A model call of which the provider reports this usage. */
async function call(
  gate: ModelGate,
  usage: Usage,
  status: 'ok' | 'failed' = 'ok',
): Promise<ReturnType<ModelGate['begin']>> {
  expect(await gate.enter(emptyState)).toBe(0)
  const running = gate.begin()
  running.onAttempt({ usage, status })
  running.end(status === 'ok')
  return running
}

/** What is left of the slice: it goes back with the next one. */
async function leftIn({ gate, borrowed, pass }: ReturnType<typeof openGate>): Promise<BorrowRequest['returned']> {
  pass(2_000)
  await gate.enter(emptyState)
  return borrowed.at(-1)!.returned
}

test('a call that may be made is accounted for once, however often it is asked about before it begins', async () => {
  const open = openGate()
  for (let times = 0; times < 2; times++) expect(await open.gate.enter(emptyState)).toBe(0)
  open.gate.begin()
  expect(await leftIn(open)).toEqual({ requests: 1, tokens: 1_000, minute: 1 })
})

test('what a call did not use is given back, once', async () => {
  const open = openGate()
  const running = await call(open.gate, { inputTokens: 80, outputTokens: 20 })
  running.end(true)
  expect(await leftIn(open)).toEqual({ requests: 1, tokens: 1_900, minute: 1 })
})

test('each attempt at a call after the first is taken from the slice, too', async () => {
  const open = openGate()
  expect(await open.gate.enter(emptyState)).toBe(0)
  const running = open.gate.begin()
  running.onAttempt({ usage: {}, status: 'failed' })
  running.onAttempt({ usage: { inputTokens: 80, outputTokens: 20 }, status: 'ok' })
  running.end(true)
  expect(await leftIn(open)).toMatchObject({ requests: 0, tokens: 1_900 })
})

test('a call of which the provider reports no usage counts as estimated if it was answered, else as nothing', async () => {
  const answered = openGate()
  await call(answered.gate, {})
  expect(await leftIn(answered)).toMatchObject({ tokens: 1_000 })
  const failed = openGate()
  await call(failed.gate, {}, 'failed')
  expect(await leftIn(failed)).toMatchObject({ tokens: 2_000 })
})

test('what was used beyond the slice is told at once, without a call that follows', async () => {
  const { gate, borrowed } = openGate()
  await call(gate, { inputTokens: 5_000, outputTokens: 0 })
  expect(borrowed.slice(1)).toMatchObject([{ need: { requests: 0, tokens: 0 }, returned: { tokens: -3_000 } }])
})

test('a call that needs more than a whole minute has may take all of it', async () => {
  const { gate, borrowed } = openGate({
    accounts: { tokensPerMinute: 500 },
    lend: ({ need }) => (need.tokens > 500 ? { type: 'wait', waitMs: 60_000 } : { ...granted, tokens: 500 }),
  })
  expect(await gate.enter(emptyState)).toBe(0)
  expect(borrowed).toMatchObject([{ need: { requests: 1, tokens: 500 } }])
})

test('a turn is put off as often as its agent retries, and anew after an answer', async () => {
  const { gate } = openGate()
  const refusal = { retryAfterMs: 5_000, delayMs: null }
  const refuse = async (isAnswered = false) => {
    await gate.enter(emptyState)
    const running = gate.begin()
    const waitMs = running.onRateLimited(refusal)
    running.end(isAnswered)
    return waitMs
  }
  expect([await refuse(), await refuse(), await refuse()]).toEqual([5_000, 5_000, null])
  await refuse(true)
  expect(await refuse()).toBe(5_000)
})

test.each([
  [1_200.5, 1_201],
  [86_400_000, 600_000],
  [Number.MAX_VALUE, 600_000],
])('a provider that asks to wait %d ms is asked again after %d', async (retryAfterMs, waitMs) => {
  const { gate, pauses, pass } = openGate()
  await gate.enter(emptyState)
  const running = gate.begin()
  expect(running.onRateLimited({ retryAfterMs, delayMs: null })).toBe(waitMs)
  running.end(false)
  expect(pauses).toEqual([waitMs])
  pass(waitMs - 1)
  expect(await gate.enter(emptyState)).toBe(1)
  pass(1)
  expect(await gate.enter(emptyState)).toBe(0)
})

test('an agent with another model to try is not put off, and neither is a wait of a second', async () => {
  const withFallback = openGate({ hasFallback: true })
  await withFallback.gate.enter(emptyState)
  expect(withFallback.gate.begin().onRateLimited({ retryAfterMs: 5_000, delayMs: null })).toBe(null)
  const { gate } = openGate()
  await gate.enter(emptyState)
  expect(gate.begin().onRateLimited({ retryAfterMs: 1_000, delayMs: null })).toBe(null)
})

test('a turn that was put off waits for so long before its next call, once', async () => {
  const { gate, borrowed } = openGate()
  gate.postpone(5_000)
  expect(gate.isPostponed).toBe(true)
  expect(await gate.enter(emptyState)).toBe(5_000)
  expect(borrowed).toEqual([])
  expect(await gate.enter(emptyState)).toBe(0)
})
