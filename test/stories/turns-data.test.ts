import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/json.ts'
import { createHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Persistence } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { exportStore } from '../../src/upkeep/export-store.ts'
import { importStore } from '../../src/upkeep/import-store.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

/** An agent whose hook, instructions and tool say which data they got. */
function desk() {
  const seen: [string, Json][] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({}),
    approval: 'required',
    run: (_, { data }) => {
      seen.push(['tool', data])
      return 'paid'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
  )
  const note = createHook({
    name: 'note',
    phase: 'pre',
    run: (turn) => {
      seen.push(['hook', turn.data])
      return turn
    },
  })
  const instructions = ({ data }: { data: Json }) => {
    seen.push(['instructions', data])
    return 'Pay.'
  }
  return { seen, model, agent: defineAgent({ name: 'desk', model, tools: [pay], hooks: [note], instructions }) }
}

const data = { page: '/orders/17', cart: [1, { two: null }], ключ: 'ß' }

overStores('data of a message', (story) => {
  test('is recorded with it, reaches hooks and tools, and is in no prompt', async () => {
    const { seen, model, agent } = desk()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'desk' })
    const turn = await chat.send('pay', { data })
    expect(await turn.outcome()).toMatchObject({ status: 'waiting' })
    await chat.approve(await onlyPendingOf(chat))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect((await chat.events())[0]).toMatchObject({ type: 'user_msg', content: { data } })
    expect(seen).toEqual([
      ['instructions', data],
      ['hook', data],
      ['tool', data],
      ['instructions', data],
      ['hook', data],
    ])
    expect(JSON.stringify(model.calls)).not.toContain('orders')
  })

  test('is null for a message without any, and one that steers does not change it', async () => {
    const { seen, agent } = desk()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'desk' })
    const turn = await chat.send('pay')
    await turn.outcome()
    await chat.send('quickly', { whenBusy: 'steer', data: 'late' })
    await chat.approve(await onlyPendingOf(chat))
    await turn.outcome()
    expect(new Set(seen.map(([, given]) => given))).toEqual(new Set([null]))
    expect((await chat.events()).flatMap(({ type, content }) => (type === 'user_msg' ? [content.data] : []))).toEqual([
      undefined,
      'late',
    ])
  })

  test('reaches a tool that runs after a restart, in a fork, and from a snapshot', async () => {
    const { seen, agent } = desk()
    const kept: Json[] = []
    const persistence: Persistence = {
      persistState: (_, state) => void kept.push(state as unknown as Json),
      loadState: (_, { conversationId }) => (conversationId === 'restored' ? kept.at(-1)! : null),
    }
    const first = story.start({ agents: [agent], persistence })
    await (await first.conversation('c1', { agent: 'desk' }).send('pay', { data })).outcome()
    await first.conversation('c1').fork({ id: 'fork' })
    await first.close()
    const second = story.start({ agents: [agent], persistence, store: story.reopen(first.store) })
    await second.conversation('restored', { agent: 'desk' }).continue()
    for (const id of ['c1', 'fork', 'restored']) {
      seen.length = 0
      const chat = second.conversation(id, { agent: 'desk' })
      const pending = await onlyPendingOf(chat)
      await chat.approve(pending)
      expect(await chat.outcome()).toMatchObject({ status: 'completed' })
      expect(seen[0]).toEqual(['tool', data])
    }
  })

  test('is in an export, and in what is imported from it', async () => {
    const { agent } = desk()
    const { store, ...runtime } = story.start({ agents: [agent] })
    await (await runtime.conversation('c1', { agent: 'desk' }).send('pay', { data })).outcome()
    const texts: string[] = []
    await exportStore(store, async (text) => void texts.push(text))
    const copy = story.openStore()
    await importStore(copy, Readable.from(texts))
    expect(await copy.forTenant('default').streamEvents('c1')).toMatchObject([{ content: { data } }, {}, {}, {}])
  })

  test('is part of what a key stands for', async () => {
    const { agent } = desk()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'desk' })
    const { turnId } = await chat.send('pay', { key: 'k1', data })
    expect((await chat.send('pay', { key: 'k1', data: structuredClone(data) })).turnId).toBe(turnId)
    for (const other of [{ ...data, page: '/' }, null, undefined])
      await expect(
        chat.send('pay', { key: 'k1', ...(other === undefined ? {} : { data: other }) }),
      ).rejects.toMatchObject({ code: 'key_reused' })
  })

  test('has at most 64 KiB, and is JSON', async () => {
    const { agent } = desk()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'desk' })
    const most = 'x'.repeat(64 * 1024 - 2)
    for (const large of [`${most}x`, 'ß'.repeat(33_000)])
      await expect(chat.send('pay', { data: large })).rejects.toMatchObject({ code: 'invalid_argument' })
    for (const wrong of [() => {}, { at: new Date() }, Number.NaN, 7n])
      await expect(chat.send('pay', { data: wrong })).rejects.toMatchObject({ code: 'invalid_value' })
    expect(await chat.events()).toEqual([])
    await chat.send('pay', { data: most })
  })

  test('comes with what a flow sends to an agent', async () => {
    const { seen, agent } = desk()
    const flow = defineFlow({
      name: 'shop',
      version: 1,
      run: async (flow) => (await flow.agent('desk', { id: 'till', message: 'Pay', data })).text,
    })
    const runtime = story.start({ agents: [agent], flows: [flow], pollMs: 10 })
    const started = runtime.flow(flow, 's1').start(null)
    const till = runtime.conversation('till')
    await expect.poll(async () => (await runtime.inbox()).length, { timeout: 10_000 }).toBe(1)
    await till.approve(await onlyPendingOf(till))
    expect(await started).toMatchObject({ status: 'done', result: 'Done.' })
    expect(new Set(seen.map(([, given]) => JSON.stringify(given)))).toEqual(new Set([JSON.stringify(data)]))
  })
})
