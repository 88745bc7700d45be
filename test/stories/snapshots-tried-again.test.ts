import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/json.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Tool } from '../../src/define/tool.ts'
import type { Snapshot } from '../../src/log/snapshot.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Persistence } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/index.ts'
import { checkHistory } from '../log/check-history.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { linesOf } from './texts.ts'

vi.setConfig({ testTimeout: 30_000 })

/** A desk whose model calls `tool` once in each turn. `reopened`: the same desk over a new store, restored from its newest snapshot. */
function desk(story: StoryContext, tool: Tool, args: Json = {}) {
  const kept = new Map<string, Json>()
  const persistence: Persistence = {
    persistState: (_, state, { conversationId }) =>
      void kept.set(conversationId ?? '', JSON.parse(JSON.stringify(state)) as Json),
    loadState: (_, { conversationId }) => kept.get(conversationId ?? '') ?? null,
  }
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: tool.name, args }] },
  )
  const agent = defineAgent({ name: 'desk', model, tools: [tool] })
  const open = () => {
    const runtime = story.start({ agents: [agent], persistence })
    return { runtime, chat: runtime.conversation('c1', { agent: 'desk' }) as Conversation }
  }
  const reopened = async () => {
    const opened = open()
    await opened.chat.continue()
    return opened
  }
  const call = () => (kept.get('c1') as unknown as Snapshot).messages.flatMap(({ parts }) => parts).at(-1)
  return { ...open(), model, kept, reopened, call }
}

const forceNeeded = { code: 'force_needed' }
const about = (name: string) => ({ name, description: name, input: z.object({ order: z.string() }) })
const args = { order: 'o-17' }

overStores('a turn that was restored from a snapshot', (story) => {
  test('is tried again past a refund only by force, and the model is told what was done', async () => {
    const refunds: string[] = []
    const refund = defineTool({ ...about('refund'), run: ({ order }) => void refunds.push(order) })
    const { chat, reopened, model } = desk(story, refund, args)
    await (await chat.send('refund it')).outcome()
    const { chat: now, runtime } = await reopened()
    const log = await now.events()
    checkHistory(log)
    const [turn] = (await now.view()).log.turns
    await expect(now.retry()).rejects.toMatchObject({ ...forceNeeded, calls: [{ tool: 'refund' }] })
    await expect(now.send('never mind', { replaces: turn!.turnId })).rejects.toMatchObject(forceNeeded)
    expect([refunds, await now.events()]).toEqual([['o-17'], log])
    await (await now.retry(turn!.turnId, { force: true })).outcome()
    expect(refunds).toEqual(['o-17', 'o-17'])
    const told = model.calls.flatMap(({ prompt }) => linesOf(prompt)).join('\n')
    expect(told).toContain('- refund({"order":"o-17"}): done')
    expect((await examineStore(runtime.store)).faults).toBe(0)
  })

  test('needs force as well after it was restored twice, and after it was replaced before the snapshot', async () => {
    const refunds: string[] = []
    const refund = defineTool({ ...about('refund'), run: ({ order }) => void refunds.push(order) })
    const { chat, reopened } = desk(story, refund, args)
    const first = await chat.send('refund it')
    await first.outcome()
    await (await chat.retry(first.turnId, { force: true })).outcome()
    const { runtime } = await reopened()
    await runtime.close()
    const { chat: now } = await reopened()
    await expect(now.retry()).rejects.toMatchObject(forceNeeded)
    expect(refunds).toHaveLength(2)
  })

  test('asks in the inbox, as in its view, with what a withdrawn turn did', async () => {
    const refund = defineTool({ ...about('refund'), approval: 'required', run: () => 'refunded' })
    const { chat, reopened } = desk(story, refund, args)
    const first = await chat.send('refund it')
    await chat.approve(await onlyPendingOf(first))
    await first.outcome()
    await onlyPendingOf(await chat.retry(first.turnId, { force: true }))
    const { chat: now, runtime } = await reopened()
    const [withdrawn] = (await now.events()).flatMap((event) => (event.type === 'tool_call' ? [event.content] : []))
    const told = { tool: 'refund', doneBefore: { callId: withdrawn!.callId, outcome: 'done' } }
    const { pending } = await now.view()
    expect([pending, await runtime.inbox()]).toMatchObject([[told], [told]])
    await now.deny(pending[0]!)
    await now.outcome()
    checkHistory(await now.events())
    expect((await examineStore(runtime.store)).faults).toBe(0)
  })

  test('is tried again without force past a tool that may be repeated', async () => {
    const looks: string[] = []
    const look = defineTool({
      ...about('look'),
      ifInterrupted: 'rerun',
      run: ({ order }) => void looks.push(order),
    })
    const { chat, reopened } = desk(story, look, args)
    await (await chat.send('look')).outcome()
    const { chat: now } = await reopened()
    await (await now.retry()).outcome()
    expect(looks).toEqual(['o-17', 'o-17'])
  })

  test('is tried again without force past what was denied or asked, for none of that ran', async () => {
    const refund = defineTool({ ...about('refund'), approval: 'required', run: () => expect.unreachable() })
    const denied = desk(story, refund, args)
    const turn = await denied.chat.send('refund it')
    await denied.chat.deny(await onlyPendingOf(turn))
    await turn.outcome()
    const again = await (await denied.reopened()).chat.retry()
    expect(await onlyPendingOf(again)).not.toHaveProperty('doneBefore')

    const asked = desk(story, defineTool({ ...about('ask'), executor: 'human', output: z.string() }), args)
    const asking = await asked.chat.send('ask me')
    await asked.chat.answer(await onlyPendingOf(asking), 'blue')
    await asking.outcome()
    await (await (await asked.reopened()).chat.retry()).outcome()
  })

  test('needs force past a call that ran when the snapshot was taken', async () => {
    const started = gate()
    const slow = defineTool({
      ...about('slow'),
      run: async () => {
        started.open()
        await new Promise(() => {})
      },
    })
    const { chat, reopened, call } = desk(story, slow, args)
    await chat.send('go')
    await started.opened
    await chat.detach()
    expect(call()).toMatchObject({ outcome: 'unknown', started: 'report' })
    const { chat: now } = await reopened()
    await expect(now.retry()).rejects.toMatchObject(forceNeeded)
  })

  test('needs force past what a page did, and past a child agent', async () => {
    const screen = defineTool({ ...about('screen'), executor: 'client', output: z.string() })
    const page = desk(story, screen, args)
    const turn = await page.chat.send('look')
    await page.chat.answer(await onlyPendingOf(turn), { ok: true, result: 'a cat' })
    await turn.outcome()
    await expect((await page.reopened()).chat.retry()).rejects.toMatchObject(forceNeeded)

    const helper = defineAgent({ name: 'helper', model: scriptedModel(() => 'Paid.') })
    const parent = desk(story, defineTool({ ...about('delegate'), executor: 'agent', agent: helper }), args)
    await (await parent.chat.send('have it paid')).outcome()
    await expect((await parent.reopened()).chat.retry()).rejects.toMatchObject(forceNeeded)
  })

  test('of a snapshot that does not say what was started needs force past every tool', async () => {
    const refund = defineTool({ ...about('refund'), run: () => null })
    const { chat, kept, reopened } = desk(story, refund, args)
    await (await chat.send('refund it')).outcome()
    const text = JSON.stringify(kept.get('c1'))
    kept.set('c1', JSON.parse(text.replace(',"started":"report"', '')) as Json)
    expect(JSON.stringify(kept.get('c1'))).not.toBe(text)
    await expect((await reopened()).chat.retry()).rejects.toMatchObject(forceNeeded)
  })
})
