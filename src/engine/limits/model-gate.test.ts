import { expect, test } from 'vitest'
import { replied, said, stateOf } from '../../../test/log/story.ts'
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
  readonly lend?: (request: BorrowRequest) => Borrowed | Promise<Borrowed>
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
  const warnings: string[] = []
  const parts = { accounts: store, clock, warnOfStore: (message: string) => void warnings.push(message) }
  const gates = new ModelGates({ accounts: { openai: accounts } }, [agent], parts)
  const gateOf = (id: string) => gates.of(agent, { tenant: 'acme', id })!
  return { gate: gateOf('c'), gateOf, store, borrowed, pauses, warnings, pass: (ms: number) => void (nowMs += ms) }
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

test('a provider that says nothing of a wait is waited for as before the next attempt, and no other call is held up', async () => {
  for (const retryAfterMs of [null, 0]) {
    const { gate, pauses } = openGate()
    await gate.enter(emptyState)
    const waitMs = gate.begin().onRateLimited({ retryAfterMs, delayMs: 4_000 })
    expect([waitMs, pauses]).toEqual([retryAfterMs === null ? 4_000 : null, []])
  }
})

test('a pause of ten minutes puts a turn off for one minute at once', async () => {
  const { gate } = openGate()
  await gate.enter(emptyState)
  gate.begin().onRateLimited({ retryAfterMs: 600_000, delayMs: null })
  expect(await gate.enter(emptyState)).toBe(60_000)
})

test('a pause that the store is not told of is logged, and kept here', async () => {
  const { gate, store, warnings } = openGate()
  store.pause = async () => {
    throw new Error('away')
  }
  await gate.enter(emptyState)
  gate.begin().onRateLimited({ retryAfterMs: 500, delayMs: null })
  expect(await gate.enter(emptyState)).toBe(500)
  expect(warnings).toEqual(['reporting the use of an account failed'])
})

test.each([
  [2_000, 60_000],
  [500, 500],
])('what was borrowed is used for %d ms where it is lent for %d', async (usedMs, forMs) => {
  const lend = () => ({ ...granted, requests: 10, tokens: 10_000, forMs })
  const { gate, borrowed, pass } = openGate({ lend })
  const calls = async () => {
    expect(await gate.enter(emptyState)).toBe(0)
    gate.begin()
    return borrowed.length
  }
  expect(await calls()).toBe(1)
  pass(usedMs - 1)
  expect(await calls()).toBe(1)
  pass(1)
  expect(await calls()).toBe(2)
  expect(borrowed.map(({ returned }) => returned)).toEqual([null, { requests: 8, tokens: 8_000, minute: 1 }])
})

test('the last request and the last token of a slice are used before more is borrowed', async () => {
  const { gate, borrowed } = openGate()
  for (const asked of [1, 1, 2]) {
    await gate.enter(emptyState)
    gate.begin()
    expect(borrowed).toHaveLength(asked)
  }
})

test.each([
  [{}, { requests: null, tokens: null }, { requests: 1_000_000, tokens: 1_000_000_000 }],
  [
    { requestsPerMinute: 120, tokensPerMinute: 200_000 },
    { requests: 120, tokens: 200_000 },
    { requests: 3, tokens: 4_000 },
  ],
  [
    { requestsPerMinute: 10, tokensPerMinute: 5_000 },
    { requests: 10, tokens: 5_000 },
    { requests: 1, tokens: 1_000 },
  ],
])(
  'with the limits %j a fiftieth of a minute is asked for, and never less than the call needs',
  async (accounts, limits, want) => {
    const { gate, borrowed } = openGate({ accounts })
    await gate.enter(emptyState)
    expect(borrowed).toEqual([
      { account: 'openai', limits, need: { requests: 1, tokens: 1_000 }, want, returned: null },
    ])
  },
)

test.each([
  [{ requestsPerMinute: 60 }, 1_000],
  [{ tokensPerMinute: 10_000 }, 6_000],
  [{ requestsPerMinute: 60, tokensPerMinute: 10_000 }, 6_000],
])(
  'with the limits %j turns that are put off come back %d ms after each other, within a minute',
  async (accounts, eachMs) => {
    const { gate, borrowed, pass } = openGate({ accounts, lend: () => ({ type: 'wait', waitMs: 500 }) })
    const waits: number[] = []
    for (let turn = 0; turn < 3; turn++) waits.push(await gate.enter(emptyState))
    expect(waits).toEqual([500, 500 + eachMs, 500 + 2 * eachMs])
    // The store has refused until then.
    expect(borrowed).toHaveLength(1)
    pass(500)
    expect(await gate.enter(emptyState)).toBe(3 * eachMs)
    expect(borrowed).toHaveLength(2)
    for (let turn = 0; turn < 70; turn++) expect(await gate.enter(emptyState)).toBeLessThanOrEqual(60_000)
    expect(await gate.enter(emptyState)).toBe(60_000)
  },
)

test('a store that refuses for longer is asked again after a second', async () => {
  const { gate, borrowed, pass } = openGate({ lend: () => ({ type: 'wait', waitMs: 30_000 }) })
  expect(await gate.enter(emptyState)).toBe(30_000)
  pass(999)
  expect(await gate.enter(emptyState)).toBe(29_001)
  expect(borrowed).toHaveLength(1)
  pass(1)
  await gate.enter(emptyState)
  expect(borrowed).toHaveLength(2)
})

test('calls that come at once ask the store once where that is enough, and each for itself where it fails', async () => {
  const open = openGate()
  const enter = () => Promise.allSettled(['c', 'd'].map((id) => open.gateOf(id).enter(emptyState)))
  expect(await enter()).toEqual([0, 0].map((value) => ({ status: 'fulfilled', value })))
  expect(open.borrowed).toHaveLength(1)
  const failing = openGate({
    lend: () => {
      if (failing.borrowed.length === 1) throw new Error('away')
      return granted
    },
  })
  const entered = await Promise.allSettled(['c', 'd'].map((id) => failing.gateOf(id).enter(emptyState)))
  expect(entered).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 0 }])
})

test.each([
  ['granted', granted, { requests: 2, tokens: 2_900, minute: 1 }],
  ['refused', { type: 'wait', waitMs: 30_000 }, { requests: 0, tokens: 900, minute: 1 }],
] as const)('what a call gives back while the store is asked is kept: %s', async (_, answer, kept) => {
  const answers: PromiseWithResolvers<Borrowed>[] = []
  const open = openGate({
    lend: () => {
      if (open.borrowed.length !== 2) return { ...granted, requests: 4, tokens: 4_000 }
      answers.push(Promise.withResolvers())
      return answers[0]!.promise
    },
  })
  const [one, two] = [open.gate, open.gateOf('d')]
  const running = []
  for (const gate of [one, two]) {
    expect(await gate.enter(emptyState)).toBe(0)
    running.push(gate.begin())
  }
  running[0]!.onAttempt({ usage: { inputTokens: 5_000 }, status: 'ok' })
  running[0]!.end(true)
  expect(open.borrowed.at(-1)).toMatchObject({ returned: { requests: 2, tokens: -2_000 } })
  running[1]!.onAttempt({ usage: { outputTokens: 100 }, status: 'ok' })
  running[1]!.end(true)
  answers[0]!.resolve(answer)
  await new Promise((resolve) => setImmediate(resolve))
  // A report that was refused puts no call off.
  expect(await leftIn(open)).toEqual(kept)
})

const used = (messageId: string, usage: Usage) => replied('t1', messageId, 1, { usage })

test.each([
  [
    'of several messages, the last',
    [said('t1'), used('m1', { inputTokens: 700 }), used('m2', { inputTokens: 300 })],
    300,
  ],
  ['prompt and answer', [said('t1'), used('m1', { inputTokens: 300, outputTokens: 40 })], 340],
  ['the last that told', [said('t1'), used('m1', { outputTokens: 50 }), used('m2', {})], 50],
  ['none', [said('t1'), used('m1', {})], 1_000],
])('a call is expected to take what the messages before it did: %s', async (_, events, tokens) => {
  const { gate, borrowed } = openGate()
  await gate.enter(stateOf(events))
  expect(borrowed[0]!.need.tokens).toBe(tokens)
})

test('without messages that told, a call is expected to take what calls of the account took, the newest an eighth of it', async () => {
  const { gate, borrowed, pass } = openGate({ lend: () => ({ ...granted, requests: 10, tokens: 50_000 }) })
  await call(gate, { inputTokens: 9_000 })
  await call(gate, {}, 'failed')
  await gate.enter(emptyState)
  gate.begin().end(false)
  pass(2_000)
  await gate.enter(emptyState)
  expect(borrowed.at(-1)!.need.tokens).toBe(2_000)
})
