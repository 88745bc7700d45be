import { expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { WatchEvent } from '../../src/view/growing-view.ts'
import { said } from '../log/story.ts'
import { overStores } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 60_000 })

/** The same data, for a process that no hint ever reaches. */
function deaf(store: Store): Store {
  return { ...store, onWake: () => () => {} }
}

overStores('watching without hints', (story) => {
  const agent = defineAgent({ name: 'quiet', model: scriptedModel(() => 'Yes.') })

  test('costs one statement for all conversations, and none of their own while nothing happens', async () => {
    const { store, counts } = recordedStore(deaf(story.openStore()))
    const runtime = story.start({ agents: [agent], store, work: false, pollMs: 100 })
    const watching = Array.from({ length: 300 }, (_, n) => runtime.conversation(`c${n}`, { agent: 'quiet' }).watch())
    await Promise.all(watching.map((watched) => watched.next()))
    const read = ({ movedLogs = 0, ...others }: Record<string, number>) => [
      movedLogs,
      Object.values(others).reduce((sum, times) => sum + times, 0),
    ]
    const [polls, before] = read(counts)
    await until(() => read(counts)[0]! >= polls! + 5)
    expect(read(counts)[1]).toBe(before)
    await Promise.all(watching.map((watched) => watched.return()))
  })

  test('tells what another process wrote, and that a log is another one', async () => {
    const store = story.openStore()
    await store.commit('c1', { events: [said('t1')], conversation: { agent: 'quiet' }, wakeAt: null })
    const runtime = story.start({ agents: [agent], store: deaf(story.reopen(store)), work: false, pollMs: 50 })
    const told: WatchEvent[] = []
    const stop = new AbortController()
    const watcher = (async () => {
      for await (const event of runtime.conversation('c1', { agent: 'quiet' }).watch({ signal: stop.signal }))
        told.push(event)
    })()
    await until(() => told.length === 1)
    await store.commit('c1', { events: [said('t2')], wakeAt: null })
    await until(() => told.some((event) => event.type === 'user_msg' && event.seq === 2))
    await store.deleteConversation('c1')
    await store.commit('c1', { events: [said('t3'), said('t4')], conversation: { agent: 'quiet' }, wakeAt: null })
    // Where a poll falls between the two, an empty conversation is shown first, and the new log is told event by event.
    const isAnother = (event: WatchEvent): boolean =>
      event.type === 'snapshot'
        ? event.view.messages[0]?.turnId === 't3'
        : event.type === 'user_msg' && event.content.turnId === 't3'
    await until(() => told.some(isAnother))
    stop.abort()
    await watcher
  })

  test('tells how a session stands that another process works on', async () => {
    const asking = defineFlow({
      name: 'asking',
      version: 1,
      run: async (ctx) => await ctx.suspend('may I?'),
    })
    const store = story.openStore()
    story.start({ agents: [agent], flows: [asking], store, pollMs: 50 })
    const elsewhere = { agents: [agent], flows: [asking], store: deaf(story.reopen(store)), work: false, pollMs: 50 }
    const session = story.start(elsewhere).flow(asking, 's1')
    await session.start(null)
    expect(await session.outcome()).toMatchObject({ status: 'waiting' })
    await session.resume('yes')
    expect(await session.outcome()).toMatchObject({ status: 'done', result: 'yes' })
  })
})
