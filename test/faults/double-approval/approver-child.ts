import { z } from 'zod'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { createScope } from '../../../src/define/scope.ts'
import type { Answered } from '../../../src/runtime/answer-call.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { describeFailure, type Failure } from '../harness/failure.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { openStore, type Target } from '../harness/target.ts'
import { sleepUntil } from '../race/sleep-until.ts'

export type ApproverInput = { readonly target: Target; readonly who: string; readonly seed: number }

/** Opens conversations that wait for an approval, or approves what waits. */
export type Order =
  | { readonly type: 'send'; readonly conversations: readonly string[] }
  /** `at`: when to begin, by the machine's clock, so that two processes begin together. */
  | { readonly type: 'approve'; readonly calls: readonly WaitingCall[]; readonly at: number }

export type WaitingCall = { readonly conversation: string; readonly callId: string }

export type ApproverMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'sent' }
  | { readonly type: 'approved'; readonly attempts: readonly Attempt[] }
  | Effect

/** The side effect: told from inside the tool, over a pipe, so that one too many cannot be overlooked. */
export type Effect = { readonly type: 'paid'; readonly callId: string; readonly by: string }

export type Attempt = WaitingCall & {
  readonly who: string
  readonly begunAt: number
  readonly endedAt: number
  readonly outcome: Answered | { readonly failure: Failure }
}

/** Between two submissions of one process, so that now one and now the other is first. */
const longestPauseMs = 2

const input = childInput<ApproverInput>()
dieWithParent()

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: (_, { callId, approval }) => {
    say<Effect>({ type: 'paid', callId: callId ?? '', by: approval?.who ?? '' })
    return 'paid'
  },
})
const model = scriptedModel(({ prompt }) =>
  prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
)
const store = await openStore(input.target)
const runtime = createRuntime({
  agents: [defineAgent({ name: 'till', model, tools: [pay] })],
  store,
  logger: silentLogger,
  restoreScope: (_, user) => createScope({ user }),
})
const me = runtime.as(createScope({ user: input.who }))
const random = seededRandom(input.seed)

onParentLine((line) => void obey(JSON.parse(line) as Order))
say<ApproverMessage>({ type: 'ready' })

async function obey(order: Order): Promise<void> {
  if (order.type === 'send') {
    const sends = order.conversations.map((id) => me.conversation(id, { agent: 'till' }).send('pay'))
    await Promise.all((await Promise.all(sends)).map((turn) => turn.outcome()))
    say<ApproverMessage>({ type: 'sent' })
    return
  }
  await sleepUntil(order.at)
  let pauseMs = 0
  const attempts = order.calls.map(async (call) => {
    pauseMs += random.next() * longestPauseMs
    await sleepUntil(order.at + pauseMs)
    return approve(call)
  })
  say<ApproverMessage>({ type: 'approved', attempts: await Promise.all(attempts) })
}

async function approve({ conversation, callId }: WaitingCall): Promise<Attempt> {
  const begunAt = now()
  const outcome = await me
    .conversation(conversation)
    .approve({ callId, round: 1 })
    .catch((error: unknown) => ({ failure: describeFailure(error) }))
  return { conversation, callId, who: input.who, begunAt, endedAt: now(), outcome }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}
