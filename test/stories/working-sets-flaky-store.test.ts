import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Logger, silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { finish, model as modelOf, streamOf } from '../support/unruly-model.ts'
import { type Flaw, flakyStore } from './flaky-store.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'

/** More than a claim brings, so that who takes the conversation reads its log. */
const long = 'go '.repeat(2_000)

overStores('a store that is away for a moment', (story) => {
  function worker() {
    const runs: string[] = []
    const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
    const drawing = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([7, 7]) } }
    const model = modelOf([
      () => streamOf([{ type: 'tool-call', toolCallId: 'c1', toolName: 'act', input: '{}' }, finish]),
      () => streamOf([drawing, { type: 'text-delta', id: 't', delta: 'Done.' }, finish]),
    ])
    return { agent: defineAgent({ name: 'worker', model, tools: [act] }), model, runs }
  }

  const flaws: Flaw[] = [
    { method: 'claimDue', times: 2 },
    { method: 'claimDue', times: 2, isWritten: true },
    { method: 'pageSince', times: 2 },
    { method: 'latestSummary', times: 2 },
    { method: 'getBlob', times: 2 },
    { method: 'putBlob', times: 2 },
    { method: 'commit', times: 3 },
    { method: 'commit', times: 3, isWritten: true },
    { method: 'keepLeases', times: 2 },
  ]

  for (const flaw of flaws) {
    const when = flaw.isWritten ? 'after it has written' : 'before it does anything'
    test(`${flaw.method} fails ${flaw.times} times ${when}: the turn ends as if nothing had been`, async () => {
      const { agent, model, runs } = worker()
      const store = story.openStore()
      const picture = { type: 'file', mediaType: 'image/png', data: new Uint8Array([1]) } as const
      const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'worker' })
      const turn = await api.send([picture, { type: 'text', text: long }])
      const { store: flaky, failures } = flakyStore(store, flaw)
      story.start({ agents: [agent], store: flaky, pollMs: 10, leaseMs: 1_500 })
      expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
      const events = await api.events()
      expect(shapeOf(events)).toEqual([
        'user_msg',
        'assistant_msg complete',
        'tool_call',
        'tool_started',
        'tool_result',
        'assistant_msg complete',
        'turn_ended completed',
      ])
      expect(events[4]?.content).toMatchObject({ ok: true })
      expect(runs).toEqual(['act'])
      expect(model.asked).toHaveLength(2)
      checkHistory(events)
      if (flaw.method !== 'keepLeases' && flaw.method !== 'latestSummary') expect(failures()).toBe(flaw.times)
    })
  }

  test('a read of the log that fails while a tool runs stops nothing: the tool ends, and its result is recorded', async () => {
    const isDone = gate<string>()
    const signals: AbortSignal[] = []
    const act = defineTool({
      name: 'act',
      description: 'Act',
      input: z.object({}),
      run: (_, { signal }) => {
        signals.push(signal)
        return isDone.opened
      },
    })
    const model = scriptedModel([{ calls: [{ tool: 'act', args: {} }] }, 'Done.', 'And again.'])
    const agent = defineAgent({ name: 'worker', model, tools: [act] })
    const store = story.openStore()
    const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'worker' })
    const turn = await api.send('go')
    const { store: flaky, failures } = flakyStore(store, {
      method: 'pageEvents',
      times: 1,
      only: () => signals.length > 0,
    })
    story.start({ agents: [agent], store: flaky, pollMs: 10 })
    await until(() => signals.length === 1)
    // Another writer appends, so the lease holder reads the log.
    const queued = await api.send('more', { whenBusy: 'queue' })
    await until(() => failures() === 1)
    isDone.open('it is done')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(await queued.outcome()).toMatchObject({ status: 'completed', text: 'And again.' })
    const events = await api.events()
    const results = events.filter((event) => event.type === 'tool_result').map(({ content }) => content)
    expect(results).toMatchObject([{ ok: true, result: 'it is done' }])
    expect(signals.map((signal) => signal.aborted)).toEqual([false])
    checkHistory(events)
  })

  test('commits that fail while the log can be read are tried less and less often', async () => {
    const { agent } = worker()
    const store = story.openStore()
    const warnings: [string, unknown][] = []
    const warn: Logger['warn'] = (message, details) => void warnings.push([message, details?.['waitMs']])
    const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'worker' })
    const turn = await api.send('go')
    const { store: flaky, failures } = flakyStore(store, { method: 'commit', times: 4 })
    const begun = performance.now()
    story.start({ agents: [agent], store: flaky, logger: { ...silentLogger, warn }, pollMs: 10 })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(failures()).toBe(4)
    // 50, 100, 200 and 400 ms, and the same failure is told once.
    expect(performance.now() - begun).toBeGreaterThan(740)
    expect(warnings).toEqual([['a commit failed; trying again', 50]])
  })

  test('a conversation that cannot be taken up for now is told of once, and not as one that never can be', async () => {
    const { agent } = worker()
    const store = story.openStore()
    const told: string[] = []
    const tell = (message: string) => void told.push(message)
    const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'worker' })
    const turn = await api.send(long)
    const { store: flaky, failures } = flakyStore(store, { method: 'pageSince', times: 3 })
    story.start({ agents: [agent], store: flaky, logger: { ...silentLogger, warn: tell, error: tell }, pollMs: 10 })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(failures()).toBe(3)
    expect(told).toEqual(['taking up a conversation failed; trying again'])
  })
})
