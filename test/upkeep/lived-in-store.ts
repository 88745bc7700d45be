import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { todos } from '../../src/extensions/index.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { childTool } from '../stories/child-agents.ts'
import { lookupAgent, talk } from '../stories/context-agent.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  expiresInMs: 1_000_000_000,
  run: ({ cents }) => ({ paid: cents }),
})
const ask = defineTool({
  name: 'ask',
  description: 'Ask',
  input: z.object({ question: z.string() }),
  executor: 'human',
  output: z.string(),
})
const browse = defineTool({
  name: 'browse',
  description: 'Open a page',
  input: z.object({}),
  executor: 'client',
  approval: 'required',
  output: z.any(),
})

const payer = defineAgent({
  name: 'payer',
  tools: [pay, ask, browse],
  title: { model: scriptedModel(() => 'About money') },
  audit: 'full',
  model: scriptedModel(({ prompt, n }) =>
    prompt.findLast((message) => message.role !== 'system')?.role === 'tool'
      ? `Done ${n}.`
      : {
          text: 'One moment.',
          calls: [
            { tool: 'pay', args: { cents: 5 } },
            { tool: 'ask', args: { question: 'Sure?' } },
            { tool: 'browse', args: {} },
          ],
        },
  ),
})
const echo = defineAgent({ name: 'echo', model: scriptedModel(() => 'Hello \u0000 yourself 😀.') })
const guarded = defineAgent({
  name: 'guarded',
  model: scriptedModel(({ n }) => `Secret ${n}.`),
  maxRegenerations: 1,
  hooks: [postHook('strict', () => regenerate('Again.'))],
})
const helper = defineAgent({
  name: 'helper',
  tools: [ask],
  model: scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'Helped.'
      : { calls: [{ tool: 'ask', args: { question: '?' } }] },
  ),
})
const boss = defineAgent({
  name: 'boss',
  tools: [childTool('delegate', helper)],
  model: scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'All done.'
      : { calls: [{ tool: 'delegate', args: { task: 'do it' } }] },
  ),
})
const review = defineFlow({
  name: 'review',
  version: 1,
  input: z.string(),
  run: async (flow, input) => {
    await flow.step('prepare', () => ({ for: input }))
    const verdict = await flow.suspend('verdict')
    await flow.sleep(input === 'long' ? 1_000_000_000 : 1)
    return `${input}: ${JSON.stringify(verdict)}`
  },
})
const { agent: lookup } = lookupAgent({ context: { summarise: { model: scriptedModel(({ n }) => `Summary ${n}.`) } } })

const planner = defineAgent({
  name: 'planner',
  extensions: [todos()],
  model: scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? 'Planned.'
      : { calls: ['a', 'b'].map((text) => ({ tool: 'write_todos', args: { texts: [text] } })) },
  ),
})

export const livedInAgents = [planner, payer, echo, guarded, helper, boss, lookup] as const
export const livedInFlows = [review] as const

/** Leaves behind some of everything that real turns leave: ended, waiting, due, forked, nested, replayed, of two tenants. */
export async function liveIn(store: Store): Promise<void> {
  const runtime = createRuntime({
    agents: livedInAgents,
    flows: livedInFlows,
    store,
    logger: silentLogger,
  })
  const as = runtime.as(createScope({ user: 'ann', tenant: 'default' }))

  const file = { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) } as const
  const plain = as.conversation('plain', { agent: 'echo' })
  await (await plain.send({ parts: [{ type: 'text', text: 'Hi \ud800' }, file] }, { key: 'k1' })).outcome()
  await (await plain.send('And again')).outcome()

  const planned = as.conversation('planned', { agent: 'planner' })
  await (await planned.send('Plan')).outcome()
  const set = (await planned.events()).find(({ type }) => type === 'state_set')!
  // Between a change of state and its result.
  await planned.fork({ at: set.seq, id: 'fork-planned' })
  await planned.setState({ todos: { items: [] } })

  const withheld = as.conversation('guarded', { agent: 'guarded' })
  await (await withheld.send('Tell')).outcome()
  // Between the mark and its message.
  await withheld.fork({ at: 2, id: 'fork-marked' })

  const waiting = as.conversation('waiting', { agent: 'payer' })
  await (await waiting.send('Pay')).outcome()
  await waiting.fork({ at: 4, id: 'fork-early' })
  const copy = await waiting.fork({ id: 'fork-waiting' })
  await copy.note('asked', { at: 'the till' })
  const [asked] = (await copy.view()).pending
  await copy.extendDeadline(asked!, { expiresInMs: 86_400_000 })

  const answered = as.conversation('answered', { agent: 'payer' })
  const turn = await answered.send('Pay')
  for (let outcome = await turn.outcome(); outcome.status === 'waiting'; outcome = await turn.outcome()) {
    const call = outcome.pending[0]!
    if (call.kind === 'elicitation') await answered.answer(call, 'yes')
    else if (call.kind === 'client_exec') await answered.answer(call, { ok: false, error: 'no page' } as never)
    else if (call.tool === 'pay') await answered.approve(call, { args: { cents: 4 } })
    else await answered.approve(call)
  }
  const denied = as.conversation('denied', { agent: 'payer' })
  const refused = await denied.send('Pay')
  const pending = await refused.outcome()
  if (pending.status === 'waiting') await denied.deny(pending.pending[0]!, { reason: 'too dear' })
  await denied.cancel()
  await refused.outcome()

  await (await as.conversation('family', { agent: 'boss' }).send('Go')).outcome()
  const late = as.conversation('family-done', { agent: 'boss' })
  const family = await late.send('Go')
  const open = await family.outcome()
  if (open.status === 'waiting') await late.answer(open.pending[0]!, 'fine')
  await family.outcome()

  await talk(as.conversation('long', { agent: 'lookup' }), 25)

  const session = as.flow(review, 'session-done')
  await session.start('short')
  await session.resume({ ok: true })
  await session.outcome()
  await as.flow(review, 'session-waiting').start('short')
  await as.flow(review, 'session-waiting').fork('session-fork')
  const sleeping = as.flow(review, 'session-asleep')
  await sleeping.start('long')
  await sleeping.resume('later')

  const other = runtime.as(createScope({ user: 'bob', tenant: 'other' }))
  await (await other.conversation('plain', { agent: 'echo' }).send({ parts: [file] })).outcome()
  for (let n = 0; n < 100 && (await store.getConversation('answered'))?.title === null; n++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await untilAsleep(store)
  await runtime.close()

  await store.putSnapshot('plain', { of: 'plain' })
  await store.putSnapshot('nobody', { '': -0, __proto__: null })
  await store.putBlob(Buffer.alloc(400_000, 'pinned'), 'text/plain')
  const api = createRuntime({ agents: livedInAgents, store, work: false, logger: silentLogger })
  await api.conversation('due', { agent: 'echo' }).send('Is anybody there?', { key: 'k2' })
  await api.close()
}

async function untilAsleep(store: Store): Promise<void> {
  for (let n = 0; n < 2_000; n++) {
    const events = await store.streamEvents('session-asleep')
    const last = events.at(-1)
    if (last?.type === 'flow_opened' && last.content.op.kind === 'sleep') return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the session never fell asleep')
}
