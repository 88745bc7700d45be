import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

const minute = 60_000

async function waiting(story: StoryContext) {
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pay', input: z.object({}), approval: 'required' },
    expiresInMs: minute,
    run: () => 'paid',
  })
  const model = scriptedModel({ calls: [{ tool: 'pay', args: {} }] })
  const runtime = story.start({ agents: [defineAgent({ name: 'till', model, tools: [pay] })] })
  const { callId } = await onlyPendingOf(await runtime.conversation('c1', { agent: 'till' }).send('go'))
  return { store: runtime.store, callId }
}

async function repaired(store: Parameters<typeof examineStore>[0]) {
  const codes: string[] = []
  const { faults, notices } = await examineStore(store, {
    repair: true,
    onFinding: ({ code }) => void codes.push(code),
  })
  return { codes, faults, notices }
}

overStores('a deadline that was moved', (story) => {
  test('is left alone by a repair, and told of', async () => {
    const { store, callId } = await waiting(story)
    await store.scheduleExpiry('c1', callId, 90 * minute)
    const { expiresAt } = (await store.getToolCall(callId))!
    expect(await repaired(store)).toEqual({ codes: ['deadline_differs'], faults: 0, notices: 1 })
    expect((await store.getToolCall(callId))!.expiresAt).toBe(expiresAt)
  })

  test('stays called off', async () => {
    const { store, callId } = await waiting(story)
    await store.cancelExpiry('c1', callId)
    await repaired(store)
    expect(await store.getToolCall(callId)).toMatchObject({ status: 'pending', expiresAt: null })
  })

  test('is kept where the rest of the row is rebuilt', async () => {
    const { store, callId } = await waiting(story)
    await store.upsertToolCall('c1', { id: callId, name: 'wrong', expiresInMs: 90 * minute })
    const { expiresAt } = (await store.getToolCall(callId))!
    const { codes } = await repaired(store)
    expect(codes).toEqual(['call_row_differs'])
    expect(await store.getToolCall(callId)).toMatchObject({ name: 'pay', status: 'pending', expiresAt })
  })
})
