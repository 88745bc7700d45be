import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Eviction } from '../../src/prompt/explain.ts'
import type { ModelCall } from '../../src/store/records.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { lookupAgent, talk } from './context-agent.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { until } from './until.ts'

type Projection = {
  readonly seen: number
  readonly evicted: readonly Eviction[]
  readonly prefix: {
    readonly messages: number
    readonly characters: number
    readonly of: number
    readonly brokenBy: string | null
  } | null
}

const projectionOf = ({ evictions }: ModelCall) => evictions as unknown as Projection
const byTime = (rows: readonly ModelCall[]) =>
  rows.toSorted((left, right) => projectionOf(left).seen - projectionOf(right).seen)

overStores('the audit of model calls', (story) => {
  test('that is full keeps exactly what was rendered, and what came of it', async () => {
    const { agent, model } = lookupAgent({ audit: 'full' })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    const turn = await chat.send('Please look up number 1.')
    await turn.outcome()
    const rows = await chat.modelCalls()
    expect(rows.map((row) => row.renderedContext)).toEqual(model.calls.map((call) => call.prompt))
    expect(rows.map((row) => row.turnRef)).toEqual([`${turn.turnId}/0000`, `${turn.turnId}/0001`])
    for (const row of rows) {
      expect(row).toMatchObject({
        model: { provider: 'scripted', modelId: 'scripted-model', attempt: 1 },
        usage: { inputTokens: 10, outputTokens: 5, timeToFirstTokenMs: expect.any(Number) },
        latencyMs: expect.any(Number),
        status: 'ok',
        summaryVersion: null,
      })
    }
    expect(projectionOf(rows[1]!)).toMatchObject({ seen: 5, evicted: [], prefix: { messages: 1, brokenBy: null } })
    expect(await runtime.store.modelCalls('c1')).toEqual(rows)
  })

  test('that has records only says everything but what was rendered', async () => {
    const { agent } = lookupAgent({ audit: 'records' })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 1)
    const rows = await chat.modelCalls()
    expect(rows).toMatchObject([
      { status: 'ok', renderedContext: null, usage: { inputTokens: 10 } },
      { status: 'ok', renderedContext: null, usage: { inputTokens: 10 } },
    ])
  })

  test('that is off keeps nothing', async () => {
    const { agent } = lookupAgent()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 1)
    expect(await chat.modelCalls()).toEqual([])
  })

  test('has a row for each attempt, in their order, also of a fallback', async () => {
    const model = scriptedModel([{ error: { status: 503 } }, { error: { status: 401 } }])
    const fallback = scriptedModel('fine', { modelId: 'other' })
    const agent = defineAgent({ name: 'chat', model, fallbackModels: [fallback], retry: { baseMs: 1 }, audit: 'full' })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'chat' })
    await (await chat.send('hello')).outcome()
    expect(await chat.modelCalls()).toMatchObject([
      { status: 'failed', model: { modelId: 'scripted-model', attempt: 1, error: expect.stringContaining('503') } },
      { status: 'failed', model: { modelId: 'scripted-model', attempt: 2, error: expect.stringContaining('401') } },
      { status: 'ok', model: { modelId: 'other', attempt: 1 }, renderedContext: [{ role: 'user' }] },
    ])
  })

  test('has the calls that were cancelled', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'chat', model, audit: 'records' })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'chat' })
    await chat.send('hello')
    const call = await model.called(1)
    call.say('as I was')
    await chat.cancel()
    expect(await chat.modelCalls()).toMatchObject([{ status: 'cancelled', usage: {} }])
  })

  test('tells summaries and titles apart from the turns', async () => {
    const titles = scriptedModel('Things', { modelId: 'titles' })
    const summaries = scriptedModel('They looked things up.', { modelId: 'summaries' })
    const { agent } = lookupAgent({
      audit: 'full',
      title: { model: titles },
      context: { summarise: { model: summaries } },
    })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 20)
    await until(() => runtime.store.latestSummary('c1'))
    await runtime.close()
    const rows = await runtime.store.modelCalls('c1')
    const kindOf = ({ turnRef }: ModelCall) => (/^(summary|title)\//.exec(turnRef) ?? ['', 'turn'])[1]!
    const modelsOf = (kind: string) =>
      new Set(rows.filter((row) => kindOf(row) === kind).map((row) => (row.model as { modelId: string }).modelId))
    expect(modelsOf('turn')).toEqual(new Set(['scripted-model']))
    expect(modelsOf('title')).toEqual(new Set(['titles']))
    expect(modelsOf('summary')).toEqual(new Set(['summaries']))
    expect(JSON.stringify(rows.find((row) => kindOf(row) === 'summary')!.renderedContext)).toContain(
      'Please look up number 1.',
    )
  })

  test('says what was left out and why, which summary was shown, and what broke the common prefix', async () => {
    const summaries = scriptedModel('They looked things up.')
    const { agent } = lookupAgent({
      tokens: 100,
      audit: 'records',
      context: { summarise: { model: summaries }, retention: { mode: 'age', value: 2 } },
    })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 60)
    const rows = byTime((await chat.modelCalls()).filter((row) => !row.turnRef.startsWith('summary/')))
    const reasons = rows.flatMap((row) => projectionOf(row).evicted.map((eviction) => eviction.why))
    expect(reasons).toContainEqual(expect.stringMatching(/^it is \d+ turns old; the retention of 'look' is 2 turns$/))
    expect(reasons).toContainEqual(
      expect.stringMatching(/^version 1 of the summary covers the turns that ended by \d+$/),
    )
    expect(rows[0]!.summaryVersion).toBeNull()
    expect(rows.at(-1)!.summaryVersion).toBeGreaterThanOrEqual(1)
    const prefixes = rows.map((row) => projectionOf(row).prefix)
    expect(prefixes[0]).toBeNull()
    const broken = prefixes.flatMap((prefix) => (prefix?.brokenBy ? [prefix.brokenBy] : []))
    expect(broken.length).toBeGreaterThan(1)
    expect(broken.length).toBeLessThan(rows.length / 5)
    for (const reason of broken) expect(reason).toMatch(/^a reduction: /)
    const whole = prefixes.filter((prefix) => prefix !== null && prefix.brokenBy === null)
    for (const prefix of whole) expect(prefix!.characters).toBeLessThanOrEqual(prefix!.of)
  })

  test('that cannot be written is logged and changes nothing', async () => {
    const warnings: string[] = []
    const logger = {
      debug: () => {},
      info: () => {},
      warn: (text: string) => void warnings.push(text),
      error: () => {},
    }
    const store = story.openStore()
    const failing = new Proxy(store, {
      get(object, name) {
        if (name === 'forTenant') return (tenant: string) => withFailingAudit(object.forTenant(tenant))
        return Reflect.get(object, name)
      },
    })
    const { agent } = lookupAgent({ audit: 'full' })
    const chat = story.start({ agents: [agent], store: failing, logger }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 1)
    expect(warnings).toEqual(['an audit row could not be written', 'an audit row could not be written'])
  })

  test('is swept: rows that are old enough go, by themselves', async () => {
    const { agent } = lookupAgent({ audit: 'records' })
    const runtime = story.start({ agents: [agent], auditTtlMs: 30 })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 2)
    await until(async () => (await chat.modelCalls()).length === 0)
    expect((await chat.events()).length).toBeGreaterThan(0)
  })
})

function withFailingAudit<T extends object>(store: T): T {
  return new Proxy(store, {
    get(object, name) {
      if (name === 'putModelCall') return async () => Promise.reject(new Error('no room'))
      return Reflect.get(object, name)
    },
  })
}
