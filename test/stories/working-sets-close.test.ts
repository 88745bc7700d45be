import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { IfInterrupted } from '../../src/log/events.ts'
import { untilState } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { type Gate, gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { slowStore } from './slow-store.ts'
import { shapeOf } from './texts.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

/** An agent with a tool that runs until the story lets it end; runs after the first end at once. */
function worker(ifInterrupted: IfInterrupted) {
  const runs: { callId: string | null; signal: AbortSignal }[] = []
  const isDone: Gate<string> = gate()
  const act = defineTool({
    name: 'act',
    description: 'Act',
    input: z.object({}),
    ifInterrupted,
    run: (_, { callId, signal }) => {
      runs.push({ callId, signal })
      return runs.length === 1 ? isDone.opened : 'second time'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'act', args: {} }] },
  )
  return { agent: defineAgent({ name: 'worker', model, tools: [act] }), model, runs, isDone }
}

overStores('closing a runtime', (story) => {
  test('waits for what runs, and takes nothing new', async () => {
    const { agent, runs, isDone } = worker('report')
    const store = story.openStore()
    const runtime = story.start({ agents: [agent], store, pollMs: 10 })
    const turn = await runtime.conversation('c1', { agent: 'worker' }).send('go')
    const outcome = turn.outcome()
    await until(() => runs.length === 1)
    let isClosed = false
    const closed = runtime.close().then(() => {
      isClosed = true
    })
    // Another process gives it more to do.
    const api = story.start({ agents: [agent], store: story.reopen(store), work: false })
    const left = await api.conversation('c2', { agent: 'worker' }).send('go')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isClosed).toBe(false)
    expect(runs).toHaveLength(1)
    isDone.open('finished')
    await closed
    expect(await outcome).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(shapeOf(await api.conversation('c2').events())).toEqual(['user_msg'])
    story.start({ agents: [agent], store: story.reopen(store) })
    expect(await left.outcome()).toMatchObject({ status: 'completed' })
  })

  test('records a call that did not finish as unknown, and another runtime goes on with that', async () => {
    const { agent, model, runs, isDone } = worker('report')
    const store = story.openStore()
    const runtime = story.start({ agents: [agent], store })
    const turn = await runtime.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs.length === 1)
    await runtime.close({ drainMs: 0 })
    expect(runs[0]!.signal.aborted).toBe(true)
    const result = (await store.streamEvents('c1')).at(-1)
    expect(result).toMatchObject({ type: 'tool_result', content: { ok: false, outcome: 'unknown' } })
    isDone.open('too late')

    const next = story.start({ agents: [agent], store: story.reopen(store) })
    const outcome = await next.conversation('c1').turn(turn.turnId).outcome()
    expect(outcome).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs).toHaveLength(1)
    expect(toolResults(model, 2)[0]![1]).toMatchObject({ value: expect.stringContaining('outcome: unknown') })
    checkHistory(await store.streamEvents('c1'))
  })

  test('leaves a call that may be run again to the next runtime, with the same id', async () => {
    const { agent, runs } = worker('rerun')
    const store = story.openStore()
    const runtime = story.start({ agents: [agent], store })
    const turn = await runtime.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs.length === 1)
    await runtime.close({ drainMs: 0 })
    expect((await store.streamEvents('c1')).at(-1)).toMatchObject({ type: 'tool_started' })
    const next = story.start({ agents: [agent], store: story.reopen(store) })
    expect(await next.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs.map((run) => run.callId)).toEqual([runs[0]!.callId, runs[0]!.callId])
    checkHistory(await store.streamEvents('c1'))
  })

  test('asks a person about a call with ifInterrupted ask', async () => {
    const { agent, runs } = worker('ask')
    const store = story.openStore()
    const runtime = story.start({ agents: [agent], store })
    await runtime.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs.length === 1)
    await runtime.close({ drainMs: 0 })
    expect((await store.streamEvents('c1')).at(-1)).toMatchObject({ type: 'suspension', content: { kind: 'recovery' } })
    const chat = story.start({ agents: [agent], store: story.reopen(store) }).conversation('c1')
    const { pending } = await untilState(chat, 'waiting')
    await chat.answer(pending[0]!, { result: 'it was done' })
    expect(await chat.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs).toHaveLength(1)
    checkHistory(await store.streamEvents('c1'))
  })

  test('stops a model without a trace, and another runtime asks it anew', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const runtime = story.start({ agents: [agent], store })
    const chat = runtime.conversation('c1', { agent: 'slow' })
    const turn = await chat.send('hello')
    const call = await model.called(1)
    call.say('as I was')
    await untilShown(chat, 'as I was')
    await runtime.close({ drainMs: 0 })
    expect(call.signal?.aborted).toBe(true)
    expect(shapeOf(await store.streamEvents('c1'))).toEqual(['user_msg'])
    const next = story.start({ agents: [agent], store: story.reopen(store) })
    await model.answer(2, 'hi')
    expect(await next.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed', text: 'hi' })
  })

  test('does not begin with a conversation that it has only just found', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    await story
      .start({ agents: [agent], store, work: false })
      .conversation('c1', { agent: 'slow' })
      // More than a claim brings, so that the log is read.
      .send('hello '.repeat(1_000))
    for (const method of ['claimDue', 'pageSince'] as const) {
      const { store: slow, isCalled, goOn } = slowStore(store, method)
      const runtime = story.start({ agents: [agent], store: slow })
      await isCalled
      const closed = runtime.close({ drainMs: 0 })
      await new Promise((resolve) => setTimeout(resolve, 10))
      goOn()
      await closed
    }
    expect(model.calls).toEqual([])
    expect(await store.dueWork({ agents: ['slow'], limit: 10 })).toEqual([{ tenant: 'default', id: 'c1' }])
  })

  test('twice, or with nothing to do, is just closing', async () => {
    const runtime = story.start({ agents: [defineAgent({ name: 'a', model: scriptedModel('x') })] })
    await Promise.all([runtime.close(), runtime.close()])
    await runtime.close()
    const chat = runtime.conversation('c1', { agent: 'a' })
    await expect(chat.send('hello')).rejects.toMatchObject({ code: 'runtime_closed' })
    await expect(chat.cancel()).rejects.toMatchObject({ code: 'runtime_closed' })
    await expect(chat.delete()).rejects.toMatchObject({ code: 'runtime_closed' })
    expect(await chat.events()).toEqual([])
  })

  test('leaves what is there to be read, and refuses every verb that writes', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      approval: 'required',
      run: () => 'never',
    })
    const model = scriptedModel({ calls: [{ tool: 'ask', args: {} }] })
    const confirm = defineFlow({ name: 'confirm', version: 1, run: (flow) => flow.suspend('sure?') })
    const agent = defineAgent({ name: 'a', model, tools: [ask] })
    const runtime = story.start({ agents: [agent], flows: [confirm] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('hello')).outcome()
    const [call] = outcome.status === 'waiting' ? outcome.pending : []
    const session = runtime.flow(confirm, 's1')
    await session.start(null)
    const logs = [await chat.events(), await session.events()]
    await runtime.close()
    const writing: (() => Promise<unknown>)[] = [
      () => chat.send('more'),
      () => chat.cancel(),
      () => chat.approve(call!),
      () => chat.deny(call!),
      () => chat.answer(call!, 'yes'),
      () => chat.fork({ id: 'c2' }),
      () => chat.continue(),
      () => chat.delete(),
      () => runtime.flow(confirm, 's2').start(null),
      () => session.resume(true),
      () => session.fork('s3'),
      () => session.continue(),
      () => session.delete(),
    ]
    for (const write of writing)
      await expect(write(), write.toString()).rejects.toMatchObject({ code: 'runtime_closed' })
    expect([await chat.events(), await session.events()]).toEqual(logs)
    const ids = (await runtime.store.listConversations({})).map(({ id }) => id)
    expect(ids.sort()).toEqual(['c1', 's1'])
  })

  test('keeps what was under way when another process wrote at the same moment', async () => {
    const { agent, runs } = worker('report')
    const store = story.openStore()
    const runtime = story.start({ agents: [agent], store })
    const turn = await runtime.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs.length === 1)
    const api = story.start({ agents: [agent], store: story.reopen(store), work: false })
    await Promise.all([
      runtime.close({ drainMs: 0 }),
      ...['two', 'three'].map((text) => api.conversation('c1').send(text, { whenBusy: 'queue' })),
    ])
    const result = (await store.streamEvents('c1')).find((event) => event.type === 'tool_result')
    expect(result?.content).toMatchObject({ ok: false, outcome: 'unknown' })
    const next = story.start({ agents: [agent], store: story.reopen(store) })
    expect(await next.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(1)
  })
})
