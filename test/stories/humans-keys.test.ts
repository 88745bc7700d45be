import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { baseOf } from '../../src/log/state.ts'
import type { Answered } from '../../src/runtime/answer-call.ts'
import type { Verbs } from '../../src/runtime/runtime.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { PendingItem } from '../../src/view/view.ts'
import { childTool } from './child-agents.ts'
import { flakyStore } from './flaky-store.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 30_000 })

const pay = defineTool({
  ...{ name: 'pay', description: 'Pay', input: z.object({ cents: z.number() }), approval: 'required' as const },
  run: ({ cents }) => `paid ${cents}`,
})
const ask = defineTool({
  ...{ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human' as const, output: z.string() },
})
const model = (tool: string, args: object) =>
  scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool, args }] },
  )
const payer = defineAgent({ name: 'payer', model: model('pay', { cents: 5 }), tools: [pay] })
const asker = defineAgent({ name: 'asker', model: model('ask', {}), tools: [ask] })

type Way = (verbs: Verbs, id: string, item: PendingItem, key?: string) => Promise<Answered>
const keyed = (key: string | undefined) => (key === undefined ? {} : { key })

const ways: readonly (readonly [name: string, agent: 'payer' | 'asker', way: Way, other: Way])[] = [
  [
    ...(['approve', 'payer'] as const),
    (verbs, id, item, key) => verbs.conversation(id).approve(item as never, keyed(key)),
    (verbs, id, item, key) =>
      verbs.conversation(id).approve(item as never, { args: { cents: 6 } as never, ...keyed(key) }),
  ],
  [
    ...(['deny', 'payer'] as const),
    (verbs, id, item, key) => verbs.conversation(id).deny(item, { reason: 'no', ...keyed(key) }),
    (verbs, id, item, key) => verbs.conversation(id).deny(item, { reason: 'never', ...keyed(key) }),
  ],
  [
    ...(['answer', 'asker'] as const),
    (verbs, id, item, key) => verbs.conversation(id).answer(item, 'blue', keyed(key)),
    (verbs, id, item, key) => verbs.conversation(id).answer(item, 'red', keyed(key)),
  ],
  [
    ...(['resolve', 'payer'] as const),
    (verbs, id, item, key) => verbs.resolve(id, item, true, keyed(key)),
    (verbs, id, item, key) => verbs.resolve(id, item, false, keyed(key)),
  ],
]

const isAnswer = (_id: string, change: { readonly events: readonly { readonly type: string }[] }) =>
  change.events.some(({ type }) => type === 'resolution')

overStores('an answer with a key', (story) => {
  async function waiting(agent: 'payer' | 'asker') {
    const data = story.openStore()
    const flaky = flakyStore(data, { method: 'commit', times: 1, isWritten: true, only: isAnswer as never })
    const runtime = story.start({ agents: [payer, asker], store: flaky.store })
    const turn = await runtime.conversation('c1', { agent }).send('go')
    return { data, runtime, turn, item: await onlyPendingOf(turn) }
  }

  for (const [name, agent, way, other] of ways) {
    test(`whose acknowledgement was lost is accepted when it is given again: ${name}`, async () => {
      const { runtime, turn, item } = await waiting(agent)
      await expect(way(runtime, 'c1', item, 'k1')).rejects.toMatchObject({ ambiguous: true })
      expect(await way(runtime, 'c1', item, 'k1')).toEqual({ accepted: true })
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
      expect(await way(runtime, 'c1', item, 'k1')).toEqual({ accepted: true })
      const events = await runtime.conversation('c1').events()
      expect(events.filter(({ type }) => type === 'resolution')).toHaveLength(1)
    })

    test(`is refused when the key stands for another: ${name}`, async () => {
      const { runtime, turn, item } = await waiting(agent)
      await way(runtime, 'c1', item, 'k1').catch(() => {})
      await expect(other(runtime, 'c1', item, 'k1')).rejects.toMatchObject({ code: 'key_reused' })
      await turn.outcome()
      await expect(other(runtime, 'c1', item, 'k1')).rejects.toMatchObject({ code: 'key_reused' })
      await expect(way(runtime, 'c1', { ...item, round: 2 }, 'k1')).rejects.toMatchObject({ code: 'invalid_answer' })
    })

    test(`and one with another key, or with none, hear who was first: ${name}`, async () => {
      const { runtime, turn, item } = await waiting(agent)
      await way(runtime, 'c1', item, 'k1').catch(() => {})
      await turn.outcome()
      for (const key of ['k2', undefined]) {
        expect(await way(runtime, 'c1', item, key)).toMatchObject({ accepted: false, resolution: { who: 'system' } })
      }
    })

    test(`is known when its turn has been summarised away: ${name}`, async () => {
      const { data, runtime, turn, item } = await waiting(agent)
      await way(runtime, 'c1', item, 'k1').catch(() => {})
      await turn.outcome()
      await runtime.close()
      const events = await data.streamEvents('c1')
      const base = baseOf(foldEvents(events))
      await data.putSummary('c1', { fromSeq: 1, toSeq: events.length, content: 'It is done.', version: 1, base })
      const later = story.start({ agents: [payer, asker], store: story.reopen(data) })
      expect(await way(later, 'c1', item, 'k1')).toEqual({ accepted: true })
      await expect(other(later, 'c1', item, 'k1')).rejects.toMatchObject({ code: 'key_reused' })
      expect(await way(later, 'c1', item, 'k2')).toMatchObject({ accepted: false })
      expect(await data.streamEvents('c1')).toHaveLength(events.length)
    })
  }

  test('is known in a child agent too, from above', async () => {
    const { store } = flakyStore(story.openStore(), {
      ...{ method: 'commit', times: 1, isWritten: true, only: isAnswer as never },
    })
    const parent = defineAgent({
      name: 'parent',
      model: model('ask_payer', { task: 'pay' }),
      tools: [childTool('ask_payer', payer)],
    })
    const runtime = story.start({ agents: [parent, payer], store })
    const chat = runtime.conversation('c1', { agent: 'parent' })
    const turn = await chat.send('go')
    const item = await onlyPendingOf(turn)
    await expect(chat.approve(item, { key: 'k1' })).rejects.toMatchObject({ ambiguous: true })
    expect(await chat.approve(item, { key: 'k1' })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await chat.approve(item, { key: 'k1' })).toEqual({ accepted: true })
    await expect(chat.deny(item, { key: 'k1' })).rejects.toMatchObject({ code: 'key_reused' })
  })

  test('is refused when the key stands for the same value of another verb', async () => {
    const { runtime, turn, item } = await waiting('payer')
    const chat = runtime.conversation('c1')
    await chat.deny(item, { key: 'k1' }).catch(() => {})
    await turn.outcome()
    await expect(chat.answer(item, null, { key: 'k1' })).rejects.toMatchObject({ code: 'key_reused' })
    expect(await chat.deny(item, { key: 'k1' })).toEqual({ accepted: true })
  })

  test('takes no key of a message', async () => {
    const { runtime, turn, item } = await waiting('payer')
    const chat = runtime.conversation('c1')
    await chat.approve(item as never, { key: 'k1' }).catch(() => {})
    await turn.outcome()
    const next = await chat.send('again', { key: 'k1' })
    expect(next.turnId).not.toBe(turn.turnId)
  })
})
