import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'

const soon = { leaseMs: 300, pollMs: 20 }
const ask = defineFlow({ name: 'ask', version: 1, run: (flow) => flow.suspend('go?') })
const helper = defineAgent({ name: 'helper', model: scriptedModel(() => 'Hi.') })

overStores("the id of a session, taken for a conversation's,", (story) => {
  test('is refused by every verb, which says what to use; nothing is written', async () => {
    const runtime = story.start({ agents: [helper], flows: [ask], ...soon })
    await runtime.flow(ask, 's1').start(null)
    const before = await runtime.store.streamEvents('s1')
    for (const chat of [runtime.conversation('s1'), runtime.conversation('s1', { agent: 'helper' })]) {
      const verbs = {
        send: () => chat.send('Hi'),
        queue: () => chat.send('Hi', { whenBusy: 'queue' }),
        cancel: () => chat.cancel(),
        approve: () => chat.approve('x'),
        deny: () => chat.deny('x'),
        answer: () => chat.answer('x', 1),
        extendDeadline: () => chat.extendDeadline('x', { expiresInMs: 1 }),
        retry: () => chat.retry(),
        state: () => chat.state(),
        setState: () => chat.setState({}),
        resolve: () => runtime.resolve('s1', 'x', 1),
        view: () => chat.view(),
        history: () => chat.history(),
        events: () => chat.events(),
        modelCalls: () => chat.modelCalls(),
        explain: () => chat.explain({ evictions: [] }),
        watch: () => chat.watch().next(),
        fork: () => chat.fork(),
        forks: () => chat.forks(),
        lineage: () => chat.lineage(),
        continue: () => chat.continue(),
        delete: () => chat.delete(),
      }
      for (const [verb, call] of Object.entries(verbs)) {
        await expect(call(), verb).rejects.toMatchObject({
          code: 'not_a_conversation',
          message: expect.stringContaining("runtime.flow('ask', 's1')"),
        })
      }
      expect(await chat.outcome()).toMatchObject({ status: 'detached', reason: expect.stringContaining('a session') })
    }
    expect(await runtime.store.streamEvents('s1')).toEqual(before)
    expect(await runtime.flow(ask, 's1').resume(1)).toEqual({ status: 'done', result: 1 })
  })
})

overStores('a session that is waited for', (story) => {
  test('is sleeping with the time it wakes at, and outcome waits further', async () => {
    const naps = defineFlow({
      name: 'naps',
      version: 1,
      run: async (flow) => {
        await flow.sleep(80)
        const answer = await flow.suspend('awake?')
        await flow.sleep(30)
        return answer
      },
    })
    const runtime = story.start({ agents: [], flows: [naps], ...soon })
    const session = runtime.flow(naps, 's1')
    const standing = await session.start(null)
    const [, slept] = await session.events()
    expect(standing).toEqual({ status: 'sleeping', wakeAt: slept!.at + 80 })
    expect(await session.outcome()).toEqual({ status: 'waiting', tag: 'awake?' })
    expect(await session.resume(7)).toMatchObject({ status: 'sleeping' })
    const enough = new Error('enough')
    await expect(session.outcome({ signal: AbortSignal.abort(enough) })).rejects.toBe(enough)
    expect(await session.outcome()).toEqual({ status: 'done', result: 7 })
    await expect(runtime.flow(naps, 'none').outcome()).rejects.toMatchObject({ code: 'no_session' })
  })

  test('that other things run beside is not sleeping', async () => {
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const both = defineFlow({
      name: 'both',
      version: 1,
      run: async (flow) => {
        const working = flow.step('work', async () => {
          begun.resolve()
          await finish.promise
        })
        await Promise.all([flow.sleep(10), working])
        return 'both'
      },
    })
    const runtime = story.start({ agents: [], flows: [both], ...soon })
    const started = runtime.flow(both, 's1').start(null)
    await begun.promise
    expect(await runtime.flow(both, 's1').status()).toBe('running')
    finish.resolve()
    await started
    expect(await runtime.flow(both, 's1').outcome()).toEqual({ status: 'done', result: 'both' })
  })

  test('whose code differs here is told as such by outcome, asleep or not', async () => {
    const attributes = { name: 'planted', version: 1 }
    const before = defineFlow({ ...attributes, run: (flow) => flow.sleep(50) })
    const after = defineFlow({ ...attributes, run: (flow) => flow.suspend('b') })
    const store = story.openStore()
    const first = story.start({ agents: [], flows: [before], store, ...soon })
    await first.flow(before, 's1').start(null)
    await first.close()
    const second = story.start({ agents: [], flows: [after], store: story.reopen(store), ...soon })
    await expect(second.flow(after, 's1').outcome()).rejects.toMatchObject({ code: 'flow_diverged' })
    expect(await second.sessions()).toMatchObject([
      { id: 's1', status: 'sleeping', problem: { code: 'flow_diverged' } },
    ])
  })

  test('of a fork is dormant until it is resumed or continued, or goes on at once', async () => {
    const runtime = story.start({ agents: [], flows: [ask], ...soon })
    const session = runtime.flow(ask, 's1')
    await session.start(null)
    const fork = await session.fork('s2', { at: 1 })
    const waiting = await session.fork('s3')
    expect([await fork.status(), await waiting.status()]).toEqual(['dormant', 'dormant'])
    expect([await fork.outcome(), await waiting.outcome()]).toEqual([
      { status: 'dormant', tag: null },
      { status: 'dormant', tag: 'go?' },
    ])
    expect(await runtime.sessions({ status: 'dormant' })).toMatchObject([{ id: 's3' }, { id: 's2' }])
    expect(await fork.continue()).toEqual({ status: 'waiting', tag: 'go?' })
    expect(await waiting.resume(7)).toEqual({ status: 'done', result: 7 })
    const running = await session.fork('s4', { at: 1, run: true })
    expect(await running.outcome()).toEqual({ status: 'waiting', tag: 'go?' })
    await session.resume(1)
    expect(await (await session.fork('s5')).status()).toBe('done')
    expect(await runtime.sessions({ status: 'dormant' })).toEqual([])
    for (const run of ['yes', 1, null]) {
      await expect(session.fork('s6', { run: run as never })).rejects.toMatchObject({ code: 'invalid_argument' })
    }
  })
})
