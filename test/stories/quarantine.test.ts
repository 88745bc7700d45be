import { expect, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { checkHistory } from '../log/check-history.ts'
import { bossOf, childIdsOf, childTool } from './child-agents.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'

const quick = { leaseMs: 100, pollMs: 10 }

overStores('a conversation that ends the processes that work on it', (story) => {
  /** What ends its process, as far as one process can tell the story of several, until it is mended. */
  function deadly() {
    let kill: (() => void) | null = null
    const runs = { count: 0 }
    return {
      runs,
      onRun: (given: (() => void) | null) => void (kill = given),
      run: async (): Promise<void> => {
        runs.count += 1
        if (!kill) return
        kill()
        await new Promise(() => {})
      },
    }
  }

  /** Starts one process after the other until none dies. */
  async function liveAndDie(
    data: Store,
    idOf: () => Promise<string>,
    { onRun }: ReturnType<typeof deadly>,
    options: Pick<RuntimeOptions, 'agents' | 'flows'>,
  ) {
    const errors: string[] = []
    const logger = { ...silentLogger, error: (message: string) => void errors.push(message) }
    let deaths = 0
    let survivor!: Runtime
    const live = (): void => {
      const { store, kill } = mortalStore(story.reopen(data))
      onRun(() => {
        kill()
        deaths += 1
        live()
      })
      survivor = story.start({ ...options, store, logger, ...quick })
    }
    live()
    await until(async () => (await data.getConversation(await idOf()))?.quarantine)
    return { deaths, errors, survivor }
  }

  async function quarantined() {
    const data = story.openStore()
    const death = deadly()
    const model = scriptedModel(() => 'Survived.')
    const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), approval: 'required', run: () => 1 })
    const agent = defineAgent({ name: 'poison', model, tools: [ask], hooks: [preHook('die', () => death.run())] })
    const api = story.start({ agents: [agent], store: story.reopen(data), work: false })
    const chat = api.conversation('c1', { agent: 'poison' })
    const turn = await chat.send('go')
    const { deaths, errors, survivor } = await liveAndDie(data, async () => 'c1', death, { agents: [agent] })
    return { data, agent, model, api, chat, turn, deaths, errors, survivor, death }
  }

  test('ends five of them, and is quarantined, which is told of in lists and by the doctor', async () => {
    const { data, deaths, death, api, model, errors } = await quarantined()
    expect({ deaths, runs: death.runs.count, asked: model.calls.length }).toEqual({ deaths: 5, runs: 5, asked: 0 })
    // The row is there before the process that wrote it hears so, and tells.
    const told = 'a conversation was quarantined: the last processes that worked on it ended while doing so'
    await until(() => errors.includes(told))
    const [listed] = await api.conversations()
    expect(listed).toMatchObject({ id: 'c1', problem: { code: 'conversation_quarantined' } })
    const findings: string[] = []
    await examineStore(data, { onFinding: ({ code }) => void findings.push(code) })
    expect(findings).toEqual(['quarantined'])
  })

  test('takes messages, which queue, and goes on with all of them when a person has released it', async () => {
    const { data, chat, turn, survivor, death, api } = await quarantined()
    const queued = await survivor.conversation('c1', { agent: 'poison' }).send('And this?')
    await expect(chat.send('And that?', { whenBusy: 'reject' })).rejects.toMatchObject({ code: 'conversation_busy' })
    await new Promise((resolve) => setTimeout(resolve, 3 * quick.leaseMs))
    expect(death.runs.count).toBe(5)
    death.onRun(null)
    expect(await api.unquarantine('c1')).toBe(true)
    expect(await api.unquarantine('c1')).toBe(false)
    for (const { turnId } of [turn, queued]) {
      expect(await chat.turn(turnId).outcome()).toMatchObject({ status: 'completed', text: 'Survived.' })
    }
    expect((await data.getConversation('c1'))?.quarantine).toBe(undefined)
    checkHistory(await data.streamEvents('c1'))
  })

  test('is cancelled without any of its code, and stays quarantined', async () => {
    const { data, chat, turn, death, model } = await quarantined()
    const queued = await chat.send('And this?')
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled', turnId: turn.turnId })
    expect(shapeOf(await data.streamEvents('c1'))).toEqual([
      'user_msg',
      'user_msg',
      'cancel_requested',
      'turn_ended cancelled',
    ])
    expect(await chat.cancel({ turnId: queued.turnId })).toMatchObject({ status: 'cancelled' })
    expect((await data.getConversation('c1'))?.quarantine).toBeDefined()
    expect({ runs: death.runs.count, asked: model.calls.length }).toEqual({ runs: 5, asked: 0 })
    checkHistory(await data.streamEvents('c1'))
  })

  test('is deleted without any of its code', async () => {
    const { data, chat, death } = await quarantined()
    expect(await chat.delete()).toBe(true)
    expect(await data.getConversation('c1')).toBe(null)
    expect(death.runs.count).toBe(5)
  })

  test('has calls that the inbox shows as quarantined, and their deadlines wake nothing', async () => {
    const data = story.openStore()
    const model = scriptedModel(() => ({ calls: [{ tool: 'ask', args: {} }] }))
    const ask = { name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() } as const
    const agent = defineAgent({ name: 'poison', model, tools: [defineTool({ ...ask, expiresInMs: 700 })] })
    const runtime = story.start({ agents: [agent], store: data, ...quick })
    const chat = runtime.conversation('c1', { agent: 'poison' })
    await chat.send('go')
    await until(async () => (await runtime.inbox()).length === 1)
    for (let lease = 0; lease <= 5; lease++) {
      await until(async () => (await data.claimLease('c1', `dead-${lease}`, 1)).type !== 'held')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(await runtime.inbox()).toMatchObject([{ tool: 'ask', quarantinedAt: expect.any(Number) }])
    await until(async () => (await data.streamEvents('c1')).at(-1)?.type === 'resolution')
    await new Promise((resolve) => setTimeout(resolve, 3 * quick.leaseMs))
    expect(model.calls).toHaveLength(1)
    expect((await data.getConversation('c1'))?.quarantine).toBeDefined()
  })

  test('as a child agent is cancelled with its parent, which goes on', async () => {
    const data = story.openStore()
    const death = deadly()
    const child = defineAgent({
      name: 'child',
      model: scriptedModel(() => 'Survived.'),
      hooks: [preHook('die', () => death.run())],
    })
    const { boss } = bossOf([childTool('delegate', child)], [{ tool: 'delegate', args: { task: 'x' } }])
    const api = story.start({ agents: [boss], store: story.reopen(data), work: false })
    const chat = api.conversation('c1', { agent: 'boss' })
    const turn = await chat.send('go')
    const childId = async () => (await childIdsOf(chat))[0] ?? 'none yet'
    await liveAndDie(data, childId, death, { agents: [boss] })
    death.onRun(null)
    const before = death.runs.count
    await api.conversation(await childId()).cancel()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(death.runs.count).toBe(before)
    const resolutions = (await chat.events()).filter(({ type }) => type === 'resolution')
    expect(resolutions).toMatchObject([
      { content: { value: { ok: false, error: expect.stringContaining('cancelled') } } },
    ])
  })

  test('as a session of a flow is told of to those who wait for it', async () => {
    const data = story.openStore()
    const death = deadly()
    const flow = defineFlow({ name: 'deadly', version: 1, run: (verbs) => verbs.step('die', () => death.run()) })
    const api = story.start({ agents: [], flows: [flow], store: story.reopen(data), work: false, pollMs: 10 })
    await api.flow(flow, 's1').start(null)
    const refused = expect(api.flow(flow, 's1').outcome()).rejects.toMatchObject({ code: 'conversation_quarantined' })
    const { deaths } = await liveAndDie(data, async () => 's1', death, { agents: [], flows: [flow] })
    expect(deaths).toBe(5)
    await refused
    death.onRun(null)
    expect(await api.unquarantine('s1')).toBe(true)
    await until(async () => (await api.flow(flow, 's1').status()) === 'done')
  })
})
