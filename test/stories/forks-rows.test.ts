import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'

const forks = 40

overStores('many forks of one conversation', (story) => {
  test('all go their own way, and every row of the parent is as it was', async () => {
    const model = scriptedModel(({ prompt }) => {
      const questions = prompt.filter(({ role }) => role === 'user')
      return `Answer to ${JSON.stringify(questions.at(-1)?.content)}`
    })
    const agent = defineAgent({ name: 'echo', model, audit: 'records' })
    const runtime = story.start({ agents: [agent], pollMs: 50 })
    const chat = runtime.conversation('parent', { agent: 'echo' })
    for (let turn = 0; turn < 12; turn++) await (await chat.send(`question ${turn}`)).outcome()
    await runtime.store.putSummary('parent', { fromSeq: 1, toSeq: 6, content: 'so far', version: 1, base: null })
    const { store } = runtime
    const before = await rowsOf(store, 'parent')
    expect(before.events.length).toBeGreaterThanOrEqual(36)

    const texts = await Promise.all(
      Array.from({ length: forks }, async (_, n) => {
        const fork = await chat.fork({ id: `fork-${n}`, at: before.events.length - (n % 4) * 3 })
        const outcome = await (await fork.send(`only in fork ${n}`)).outcome()
        return outcome.status === 'completed' ? outcome.text : outcome.status
      }),
    )
    for (const [n, text] of texts.entries()) expect(text).toContain(`only in fork ${n}"`)
    expect(await rowsOf(store, 'parent')).toEqual(before)
    expect(await chat.forks({ limit: forks + 1 })).toHaveLength(forks)

    // And the parent's own way leaves the forks alone.
    const copies = await Promise.all(texts.map((_, n) => rowsOf(store, `fork-${n}`)))
    await (await chat.send('only in the parent')).outcome()
    await chat.delete()
    expect(await Promise.all(texts.map((_, n) => rowsOf(store, `fork-${n}`)))).toEqual(copies)
  })
})

async function rowsOf(store: Store, id: string) {
  return {
    events: await store.streamEvents(id),
    record: await store.getConversation(id),
    revival: await store.loadSince(id),
    pending: await store.pendingToolCalls(id),
    modelCalls: await store.modelCalls(id),
  }
}
