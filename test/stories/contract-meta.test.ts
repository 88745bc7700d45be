import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { exported, importText } from '../upkeep/exported.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 20_000 })

const meta = { ticket: 42, from: { team: 'billing' } }

/** A call that waits for approval first and for a page second, with meta that the application attached to its row. */
async function attached(story: StoryContext) {
  const browse = defineTool({
    name: 'browse',
    description: 'Open a page',
    input: z.object({ page: z.string() }),
    executor: 'client',
    approval: 'required',
    output: z.any(),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Seen.' : { calls: [{ tool: 'browse', args: { page: 'home' } }] },
  )
  const agent = defineAgent({ name: 'guide', model, tools: [browse], audit: 'full' })
  const runtime = story.start({ agents: [agent] })
  const chat = runtime.conversation('c1', { agent: 'guide' })
  const turn = await chat.send('Show me')
  const call = await onlyPendingOf(turn)
  await attach(runtime.store, call.callId)
  return { runtime, chat, turn, call, store: runtime.store }
}

async function attach(store: Store, callId: string, name = 'browse'): Promise<void> {
  const { executor, args, round, kind, prompt } = (await store.getToolCall(callId))!
  await store.upsertToolCall('c1', { id: callId, name, executor, args, round, kind, prompt, meta })
}

overStores('what an application attaches to a call', (story) => {
  test('stays through its rounds and its answer, and no prompt and no page shows it', async () => {
    const { runtime, chat, turn, call, store } = await attached(story)
    await chat.approve(call)
    const second = await onlyPendingOf(turn)
    expect(await store.getToolCall(call.callId)).toMatchObject({ round: 2, kind: 'client_exec', meta })
    await chat.answer(second, { ok: true, result: { title: 'Home' } })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await store.getToolCall(call.callId)).toMatchObject({ status: 'resolved', meta })
    const told = JSON.stringify([await chat.modelCalls(), await chat.view(), await runtime.inbox()])
    expect(told).not.toContain('billing')
  })

  test('is in an export and back after an import', async () => {
    const { call, store } = await attached(story)
    await store.putModelCall('c1', { turnRef: 'own', meta })
    const copy = story.openStore()
    await importText(copy, await exported(store))
    expect(await copy.getToolCall(call.callId)).toMatchObject({ meta })
    expect(await copy.modelCalls('c1', { turnRef: 'own' })).toMatchObject([{ meta }])
    expect(await exported(copy)).toBe(await exported(store))
  })

  test('is no fault to the doctor, and a repair of the row keeps it', async () => {
    const { runtime, call, store } = await attached(story)
    await runtime.close()
    expect(await examineStore(store)).toMatchObject({ faults: 0 })
    await attach(store, call.callId, 'somewhere else')
    expect(await examineStore(store, { repair: true })).toMatchObject({ faults: 0 })
    expect(await store.getToolCall(call.callId)).toMatchObject({ name: 'browse', status: 'pending', meta })
  })
})
