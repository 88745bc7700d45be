import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../base/json.ts'
import { defineAgent } from '../define/define-agent.ts'
import { defineTool } from '../define/define-tool.ts'
import type { LanguageModel } from '../define/language-model.ts'
import type { Store } from '../store/store.ts'
import type { PendingItem } from '../view/view.ts'
import type { Answered } from './answer-call.ts'
import type { Conversation, PendingOf } from './conversation.ts'
import { createRuntime } from './create-runtime.ts'

declare const model: LanguageModel
declare const store: Store

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().default(0) }),
  approval: 'required',
  run: async ({ orderId, cents }) => ({ orderId, cents }),
})
const ask = defineTool({
  name: 'ask',
  description: 'Ask',
  executor: 'human',
  input: z.object({ question: z.string() }),
  output: z.string(),
})
const search = defineTool({ name: 'web_search', executor: 'provider' })

const define = () => ({
  support: defineAgent({ name: 'support', model, tools: [refund, ask, search] }),
  scorer: defineAgent({ name: 'scorer', model, output: z.object({ score: z.coerce.number() }) }),
})
type Agents = ReturnType<typeof define>

declare const support: Conversation<Agents['support']>
declare const scorer: Conversation<Agents['scorer']>

test('what waits is told apart by its tool, with the arguments of that tool', async () => {
  const outcome = await (await support.send('hi')).outcome()
  if (outcome.status !== 'waiting') return
  for (const call of outcome.pending) {
    expectTypeOf(call.tool).toEqualTypeOf<'refund' | 'ask'>()
    if (call.tool === 'refund') expectTypeOf(call.args).toEqualTypeOf<{ orderId: string; cents?: number | undefined }>()
    if (call.tool === 'ask') expectTypeOf(call.args).toEqualTypeOf<{ question: string }>()
    // @ts-expect-error there is no such tool
    if (call.tool === 'pay') throw call
    // @ts-expect-error only once the tool is known
    expectTypeOf(call.args.orderId)
  }
})

test('what the host of the model runs never waits', () => {
  expectTypeOf<PendingOf<Agents['support']>['tool']>().toEqualTypeOf<'refund' | 'ask'>()
  expectTypeOf<PendingOf<Agents['scorer']>>().toEqualTypeOf<never>()
})

test('what a child agent waits for is told apart like what the agent itself does', () => {
  const never = (defined: Agents) => {
    const research = { name: 'research' as const, description: 'Find out', input: z.object({ topic: z.string() }) }
    const known = defineTool({ ...research, executor: 'agent', agent: defined.support })
    const named = defineTool({ ...research, executor: 'agent', agent: { name: 'support' } })
    const lead = defineAgent({ name: 'lead', model, tools: [known] })
    const remote = defineAgent({ name: 'remote', model, tools: [named] })
    const told = (call: PendingOf<typeof lead>, other: PendingOf<typeof remote>) => {
      expectTypeOf(call.tool).toEqualTypeOf<'refund' | 'ask' | 'research'>()
      if (call.tool === 'research') expectTypeOf(call.args).toEqualTypeOf<{ topic: string }>()
      if (call.tool === 'ask') expectTypeOf(call.args).toEqualTypeOf<{ question: string }>()
      expectTypeOf(other.tool).toEqualTypeOf<string>()
    }
    return told
  }
  expectTypeOf(never).toBeFunction()
})

test('an agent that is not known has pending items of any tool', () => {
  expectTypeOf<PendingOf<Parameters<typeof createRuntime>[0]['agents'][number]>>().toEqualTypeOf<PendingItem>()
})

test('changed arguments are those of the tool, as the model would pass them', () => {
  const never = async (chat: Conversation<Agents['support']>, call: PendingOf<Agents['support']>) => {
    if (call.tool === 'refund') {
      expectTypeOf(await chat.approve(call, { args: { orderId: 'o1' } })).toEqualTypeOf<Answered>()
      // @ts-expect-error cents is a number
      await chat.approve(call, { args: { orderId: 'o1', cents: 'many' } })
      // @ts-expect-error the tool needs an order
      await chat.approve(call, { args: { cents: 1 } })
    }
    // Where the tool is not known, the check at run time has to do.
    await chat.approve(call.callId, { args: { anything: 1 } })
    await chat.approve({ callId: call.callId, round: 2 }, { args: 'anything' })
    // @ts-expect-error a reason is for a denial
    await chat.approve(call, { reason: 'no' })
    // @ts-expect-error a call is named by its id
    await chat.approve(7)
    // @ts-expect-error an answer has a value
    await chat.answer(call)
  }
  expectTypeOf(never).toBeFunction()
})

test('a pending item of one conversation can be answered through a handle that knows nothing of its agent', () => {
  const never = async (chat: Conversation, call: PendingOf<Agents['support']>, item: PendingItem, args: unknown) => {
    await chat.approve(call)
    await chat.approve(item, { args })
    await chat.deny(item, { reason: 'no' })
    await chat.answer(item, args)
  }
  expectTypeOf(never).toBeFunction()
})

test('the object of a turn is that of the agent’s schema', async () => {
  const outcome = await (await scorer.send('hi', { key: 'k' })).outcome()
  if (outcome.status === 'completed') expectTypeOf(outcome.object).toEqualTypeOf<{ score: number }>()
  // @ts-expect-error only a completed turn has one
  expectTypeOf(outcome.object)
  const newest = await scorer.outcome()
  if (newest.status === 'completed') expectTypeOf(newest.object).toEqualTypeOf<{ score: number }>()
  const named = await scorer.turn('t1').outcome()
  if (named.status === 'completed') expectTypeOf(named.object).toEqualTypeOf<{ score: number }>()
})

test('a turn may have a schema of its own', async () => {
  const outcome = await (await scorer.send('hi', { output: z.object({ name: z.string() }) })).outcome()
  if (outcome.status === 'completed') expectTypeOf(outcome.object).toEqualTypeOf<{ name: string }>()
  const plain = await (await support.send('hi', { output: z.array(z.number()) })).outcome()
  if (plain.status === 'completed') expectTypeOf(plain.object).toEqualTypeOf<number[]>()
  const json = await (await support.send('hi', { output: { type: 'object' } })).outcome()
  if (json.status === 'completed') expectTypeOf(json.object).toEqualTypeOf<Json>()
})

test('a turn may opt out of the agent’s schema, and an agent without one has no object', async () => {
  const optedOut = await (await scorer.send('hi', { output: false })).outcome()
  if (optedOut.status === 'completed') expectTypeOf(optedOut.object).toEqualTypeOf<undefined>()
  const none = await (await support.send('hi')).outcome()
  if (none.status === 'completed') expectTypeOf(none.object).toEqualTypeOf<undefined>()
})

test('how a turn stands tells what there is to read', async () => {
  const outcome = await (await support.send('hi')).outcome()
  switch (outcome.status) {
    case 'waiting':
      expectTypeOf(outcome.pending).toEqualTypeOf<readonly PendingOf<Agents['support']>[]>()
      // @ts-expect-error it has not said anything final
      return outcome.text
    case 'completed':
    case 'cancelled':
    case 'failed':
    case 'halted':
      expectTypeOf(outcome.text).toEqualTypeOf<string>()
      // @ts-expect-error nothing waits any more
      return outcome.pending
    case 'detached':
      expectTypeOf(outcome.reason).toEqualTypeOf<string>()
      return null
    default:
      return expectTypeOf(outcome).toEqualTypeOf<never>()
  }
})

test('what a send does not have does not compile', () => {
  const never = async () => {
    // @ts-expect-error there is no such way to be busy
    await support.send('hi', { whenBusy: 'wait' })
    // @ts-expect-error true is not a schema
    await support.send('hi', { output: true })
    // @ts-expect-error there is no such option
    await support.send('hi', { keys: 'k' })
  }
  expectTypeOf(never).toBeFunction()
})

test('an agent whose name is only known at run time is taken for what it is', () => {
  const never = (name: string) => {
    const agent = defineAgent({ name, model, tools: [refund] })
    const chat = createRuntime({ agents: [agent], store }).conversation('c1', { agent: 'support' })
    expectTypeOf(chat).toEqualTypeOf<Conversation<typeof agent>>()
  }
  expectTypeOf(never).toBeFunction()
})

test('a runtime knows the names of its agents, and a conversation what its agent can do', () => {
  const never = () => {
    const { support: supportAgent, scorer: scorerAgent } = define()
    const runtime = createRuntime({ agents: [supportAgent, scorerAgent], store })
    expectTypeOf(runtime.conversation('c1', { agent: 'support' })).toEqualTypeOf<Conversation<Agents['support']>>()
    expectTypeOf(runtime.conversation('c1', { agent: 'scorer' })).toEqualTypeOf<Conversation<Agents['scorer']>>()
    // @ts-expect-error there is no such agent
    runtime.conversation('c1', { agent: 'suport' })
    // Without a name it may be any of them.
    const any = runtime.conversation('c1')
    expectTypeOf<PendingOf<typeof any extends Conversation<infer A> ? A : never>['tool']>().toEqualTypeOf<
      'refund' | 'ask'
    >()
    // @ts-expect-error a runtime needs a store
    createRuntime({ agents: [supportAgent] })
    // @ts-expect-error agents are defined, not named
    createRuntime({ agents: ['support'], store })
  }
  expectTypeOf(never).toBeFunction()
})
