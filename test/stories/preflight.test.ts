import { expect, test } from 'vitest'
import { z } from 'zod'
import { preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { FlowVerbs } from '../../src/define/flow-verbs.ts'
import { systemScope } from '../../src/define/scope.ts'
import type { Tool } from '../../src/define/tool.ts'
import type { PreflightOptions } from '../../src/runtime/preflight/preflight.ts'
import type { PreflightFinding } from '../../src/runtime/preflight/preflight-finding.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'
import { recordedStore } from './recorded-store.ts'
import { until } from './until.ts'

/** What of the application ran. */
const ran: string[] = []

const pay = (input: z.ZodType = z.object({ cents: z.number() })): Tool =>
  defineTool({ name: 'pay', description: 'Pay', input, approval: 'required', run: () => void ran.push('pay') })

const ask = (output: z.ZodType = z.string()): Tool =>
  defineTool({ name: 'ask', description: 'Ask', executor: 'human', input: z.object({}), output })

const look = preHook('look', () => void ran.push('look'))

/** The agent as one version of the code has it: the model pays and asks. */
function till(tools: readonly Tool[] = [pay(), ask()], more: object = { state: z.object({ step: z.string() }) }) {
  const model = scriptedModel(() => {
    ran.push('model')
    const calls = [
      { tool: 'pay', args: { cents: 5 } },
      { tool: 'ask', args: {} },
    ]
    return { calls }
  })
  const initialState = { step: 'new' }
  return defineAgent({
    name: 'till',
    model,
    tools,
    hooks: [look],
    ...('state' in more ? { initialState } : {}),
    ...more,
  })
}

const book = async (flow: FlowVerbs): Promise<unknown> => {
  await flow.step('charge', () => void ran.push('charge'))
  const answer = await flow.suspend('ok?', { schema: z.boolean() })
  await flow.step('ship', () => void ran.push('ship'))
  return answer
}

const booking = (run: (flow: FlowVerbs) => Promise<unknown> = book) =>
  defineFlow({ name: 'booking', version: '1', run })

/** A store in which a conversation and a session wait, made by the first version of the code. */
async function opened(story: StoryContext): Promise<Store> {
  const store = story.openStore()
  const runtime = story.start({ agents: [till()], flows: [booking()], store })
  const chat = runtime.conversation('c1', { agent: 'till' })
  await pendingOf(await chat.send('Pay and ask'))
  await chat.setState({ step: 'paying' })
  await runtime.flow('booking', 's1').start(null)
  await until(async () => (await runtime.flow('booking', 's1').status()) === 'waiting')
  await runtime.close()
  ran.length = 0
  return store
}

type Changed = {
  readonly agents?: readonly ReturnType<typeof till>[]
  readonly flows?: readonly ReturnType<typeof booking>[]
}

/** The findings of another version of the code, as one line each. */
async function findings(
  story: StoryContext,
  store: Store,
  { agents = [till()], flows = [booking()] }: Changed,
  options?: PreflightOptions,
): Promise<string[]> {
  const runtime = story.start({ agents, flows, store, work: false })
  return (await everyPage(runtime, options)).map(({ level, kind, id, tool }) =>
    [level, kind, id, tool ?? ''].join(' ').trim(),
  )
}

async function everyPage(runtime: Pick<Runtime, 'preflight'>, options?: PreflightOptions): Promise<PreflightFinding[]> {
  const found: PreflightFinding[] = []
  for (let after: string | null = null, pages = 0; pages < 50; pages++) {
    const page = await runtime.preflight({ ...options, ...(after === null ? {} : { after }) })
    found.push(...page.findings)
    after = page.after
    // What was created in one moment has no order of its own.
    if (after === null) return found.toSorted((one, other) => (one.id < other.id ? -1 : Number(one.id > other.id)))
  }
  throw new Error('the pages do not end')
}

overStores('preflight', (story) => {
  test('finds nothing where the code can go on with everything', async () => {
    const store = await opened(story)
    const runtime = story.start({ agents: [till()], flows: [booking()], store, work: false })
    expect(await runtime.preflight()).toEqual({ findings: [], checked: 2, after: null })
  })

  test('runs no model, hook, tool or step of the application, and writes nothing', async () => {
    const data = await opened(story)
    const { store, commits, counts } = recordedStore(data)
    const before = [await data.streamEvents('c1'), await data.streamEvents('s1'), await data.getConversation('c1')]
    const migrateState = () => {
      ran.push('migrateState')
      return { step: 1 }
    }
    const agent = till([pay(z.object({ cents: z.string() }))], {
      ...{ state: z.object({ step: z.number() }), initialState: { step: 0 } },
      migrateState,
    })
    await findings(story, store, {
      agents: [agent],
      flows: [booking(async (flow) => flow.step('other', () => void ran.push('other')))],
    })
    expect(ran).toEqual([])
    expect(commits).toEqual([])
    const reads = [
      'close',
      'forTenant',
      'getConversation',
      'listConversations',
      'movedLogs',
      'onWake',
      'pageEvents',
      'pageSince',
      'streamEvents',
    ]
    expect(Object.keys(counts).filter((method) => !reads.includes(method))).toEqual([])
    expect([await data.streamEvents('c1'), await data.streamEvents('s1'), await data.getConversation('c1')]).toEqual(
      before,
    )
  })

  test('tells of an agent and a flow without code', async () => {
    const store = await opened(story)
    expect(await findings(story, store, { agents: [], flows: [] })).toEqual([
      'error agent_missing c1',
      'error flow_missing s1',
    ])
  })

  test('tells of tools that are gone, and of what only waits for its answer as a warning', async () => {
    const store = await opened(story)
    expect(await findings(story, store, { agents: [till([])] })).toEqual([
      'error tool_missing c1 pay',
      'warning tool_missing c1 ask',
    ])
  })

  test('tells of recorded arguments that the tool does not take any more', async () => {
    const store = await opened(story)
    const changed = till([pay(z.object({ cents: z.number(), currency: z.string() })), ask()])
    expect(await findings(story, store, { agents: [changed] })).toEqual(['error arguments_invalid c1 pay'])
  })

  test('tells of a question that was asked with another schema', async () => {
    const store = await opened(story)
    const changedFlow = booking(async (flow) => {
      await flow.step('charge', () => 0)
      return flow.suspend('ok?', { schema: z.enum(['yes', 'no']) })
    })
    expect(await findings(story, store, { agents: [till([pay(), ask(z.number())])], flows: [changedFlow] })).toEqual([
      'warning answer_schema_changed c1 ask',
      'warning answer_schema_changed s1',
    ])
  })

  test('tells of a state that does not match, and runs migrateState only where it is asked to', async () => {
    const store = await opened(story)
    const state = z.object({ step: z.number() })
    const convert = (to: unknown) => () => {
      ran.push('migrateState')
      return { step: to }
    }
    const migrating = (to: unknown) => ({
      agents: [till(undefined, { state, initialState: { step: 0 }, migrateState: convert(to) })],
    })
    const plain = till(undefined, { state, initialState: { step: 0 } })
    expect(await findings(story, store, { agents: [plain] })).toEqual(['error state_invalid c1'])
    expect(await findings(story, store, migrating(1))).toEqual(['warning state_to_migrate c1'])
    expect(ran).toEqual([])
    expect(await findings(story, store, migrating(1), { migrateState: true })).toEqual([])
    expect(await findings(story, store, migrating('no'), { migrateState: true })).toEqual(['error state_invalid c1'])
    expect(ran).toEqual(['migrateState', 'migrateState'])
  })

  test('tells of flows that diverge before the first operation that is not recorded, and not after it', async () => {
    const store = await opened(story)
    const before = booking(async (flow) => {
      await flow.step('bill', () => void ran.push('bill'))
      return flow.suspend('ok?', { schema: z.boolean() })
    })
    const after = booking(async (flow) => {
      await flow.step('charge', () => void ran.push('charge'))
      await flow.suspend('ok?', { schema: z.boolean() })
      await flow.step('send by mail', () => void ran.push('mail'))
      return flow.suspend('arrived?')
    })
    expect(await findings(story, store, { flows: [before] })).toEqual(['error flow_diverges s1'])
    expect(await findings(story, store, { flows: [after] })).toEqual([])
    expect(ran).toEqual([])
  })

  test('tells of events that a later version wrote', async () => {
    const store = await opened(story)
    await story.appendAsLater(store, 'c1', { type: 'from_the_future', content: { since: '99.1.0' } })
    await story.appendAsLater(store, 's1', { type: 'from_the_future', content: {} })
    const runtime = story.start({ agents: [till()], flows: [booking()], store, work: false })
    const found = await everyPage(runtime)
    expect(found.map(({ kind, id }) => [kind, id])).toEqual([
      ['event_unknown', 'c1'],
      ['event_unknown', 's1'],
    ])
    expect(found[0]!.message).toContain('99.1.0')
  })

  test('goes over all tenants by pages, and over one where that is asked for', async () => {
    const store = story.openStore()
    const runtime = story.start({ agents: [till()], flows: [booking()], store })
    for (const tenant of ['acme', 'zeta', 'default']) {
      const verbs = runtime.as(systemScope(tenant))
      for (const id of ['c1', 'c2', 'c3']) await pendingOf(await verbs.conversation(id, { agent: 'till' }).send('Pay'))
    }
    await runtime.close()
    const later = story.start({ agents: [], store, work: false })
    const paged = await everyPage(later, { limit: 2 })
    const places = paged.map(({ tenant, id }) => `${tenant}/${id}`)
    expect(places).toHaveLength(9)
    expect(places.toSorted()).toEqual(
      ['acme', 'default', 'zeta'].flatMap((tenant) => [1, 2, 3].map((n) => `${tenant}/c${n}`)),
    )
    expect((await everyPage(later, { tenant: 'zeta', limit: 1 })).map(({ tenant }) => tenant)).toEqual([
      'zeta',
      'zeta',
      'zeta',
    ])
    const { after } = await later.preflight({ tenant: 'zeta', limit: 1 })
    await expect(later.preflight({ tenant: 'acme', after: after! })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(later.preflight({ after: 'not a place' })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(later.preflight({ limit: 1_001 })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('goes on where the conversation that a page ended with was deleted', async () => {
    const store = story.openStore()
    const runtime = story.start({ agents: [till()], store })
    for (const id of ['c1', 'c2', 'c3']) await pendingOf(await runtime.conversation(id, { agent: 'till' }).send('Pay'))
    await runtime.close()
    const later = story.start({ agents: [], store, work: false })
    const { findings: found, after } = await later.preflight({ limit: 1 })
    await store.deleteConversation(found[0]!.id)
    const left = await everyPage(later, { after: after!, limit: 1 })
    expect(left.map(({ id }) => id).toSorted()).toEqual(['c1', 'c2', 'c3'].filter((id) => id !== found[0]!.id))
  })

  test('tells at most 20 findings of one conversation', async () => {
    const store = story.openStore()
    const calls = Array.from({ length: 30 }, () => ({ tool: 'pay', args: { cents: 1 } }))
    const many = defineAgent({ name: 'many', model: scriptedModel([{ calls }]), tools: [pay()] })
    const runtime = story.start({ agents: [many], store })
    await pendingOf(await runtime.conversation('c1', { agent: 'many' }).send('Pay'))
    await runtime.close()
    const bare = defineAgent({ name: 'many', model: scriptedModel([]), tools: [] })
    const found = await everyPage(story.start({ agents: [bare], store, work: false }))
    expect(found).toHaveLength(21)
    expect(found.at(-1)).toMatchObject({ kind: 'more', level: 'error', message: expect.stringContaining('10 more') })
  })
})
