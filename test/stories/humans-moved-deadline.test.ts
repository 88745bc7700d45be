import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const minute = 60_000

function till(expiresInMs: number | null = minute) {
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pay', input: z.object({}), approval: 'required' },
    ...(expiresInMs === null ? {} : { expiresInMs }),
    run: () => 'paid',
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
  )
  return { agent: defineAgent({ name: 'till', model, tools: [pay] }), model }
}

async function waiting(story: StoryContext, expiresInMs: number | null = minute) {
  const { agent, model } = till(expiresInMs)
  const runtime = story.start({ agents: [agent] })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'till' })
  const turn = await chat.send('go')
  const call = await onlyPendingOf(turn)
  return { runtime, store: runtime.store, chat, turn, call, callId: call.callId, model }
}

async function repaired(store: Parameters<typeof examineStore>[0]) {
  const codes: string[] = []
  const { faults, notices } = await examineStore(store, {
    repair: true,
    onFinding: ({ code }) => void codes.push(code),
  })
  return { codes, faults, notices }
}

/** The deadline of the one call, wherever it is told. */
async function deadlines({ runtime, store, chat, turn, callId }: Awaited<ReturnType<typeof waiting>>) {
  const [view, pending, inbox] = [await chat.view(), await onlyPendingOf(turn), await runtime.inbox()]
  const row = await store.getToolCall(callId)
  return [view.pending[0]!.expiresAt, pending.expiresAt, inbox[0]!.expiresAt, row!.expiresAt]
}

overStores('a deadline that was moved', (story) => {
  test.each([
    ['to a later time', 90 * minute],
    ['to an earlier one', 30_000],
    ['to never', null],
  ])('is the same wherever it is told: %s', async (_, expiresInMs) => {
    const started = await waiting(story)
    const { chat, call, store, model } = started
    const moved = await chat.extendDeadline(call, { expiresInMs })
    const [event] = await chat.events({ after: 4 })
    const expiresAt = expiresInMs === null ? null : event!.at + expiresInMs
    const content = { callId: call.callId, round: 1, expiresInMs, who: 'ann' }
    expect(event).toMatchObject({ type: 'deadline_moved', content })
    expect(moved).toEqual({ accepted: true, expiresAt })
    expect(await deadlines(started)).toEqual([expiresAt, expiresAt, expiresAt, expiresAt])
    expect(await repaired(store)).toEqual({ codes: [], faults: 0, notices: 0 })
    expect(await deadlines(started)).toEqual([expiresAt, expiresAt, expiresAt, expiresAt])
    expect(model.calls).toHaveLength(1)
  })

  test('by the verbs of the store is the same, too', async () => {
    const started = await waiting(story)
    const { store, callId } = started
    await store.scheduleExpiry('c1', callId, 90 * minute)
    const { at } = (await store.streamEvents('c1', { after: 4 }))[0]!
    expect(await deadlines(started)).toEqual(Array(4).fill(at + 90 * minute))
    await store.cancelExpiry('c1', callId)
    expect(await deadlines(started)).toEqual(Array(4).fill(null))
    expect((await repaired(store)).codes).toEqual([])
  })

  test('goes along to a fork, as of the event where it was cut', async () => {
    const { chat, call, store } = await waiting(story)
    await chat.extendDeadline(call, { expiresInMs: 90 * minute })
    const [asked, moved] = (await chat.events()).slice(-2)
    const deadlineOf = async (at: number) => (await (await chat.fork({ at })).view()).pending[0]!.expiresAt
    expect(await deadlineOf(asked!.seq)).toBe(asked!.at + minute)
    expect(await deadlineOf(moved!.seq)).toBe(moved!.at + 90 * minute)
    expect((await repaired(store)).codes).toEqual([])
  })

  test('is put back by a repair where only the row was changed', async () => {
    const { store, chat, call, callId } = await waiting(story)
    const moved = await chat.extendDeadline(call, { expiresInMs: 90 * minute })
    const { name, executor, args, prompt } = (await store.getToolCall(callId))!
    await store.upsertToolCall('c1', { id: callId, name, executor, args, prompt, expiresInMs: 5 * minute })
    expect(await repaired(store)).toEqual({ codes: ['deadline_differs'], faults: 0, notices: 0 })
    expect(moved).toMatchObject({ accepted: true, expiresAt: (await store.getToolCall(callId))!.expiresAt })
    await store.upsertToolCall('c1', { id: callId, name: 'wrong', expiresInMs: 5 * minute })
    expect((await repaired(store)).codes).toEqual(['call_row_differs'])
    expect(moved).toMatchObject({ expiresAt: (await store.getToolCall(callId))!.expiresAt })
  })

  test('is what the call expires by', async () => {
    const { chat, call, turn } = await waiting(story, 300)
    const moved = await chat.extendDeadline(call, { expiresInMs: 900 })
    // A machine too slow to move it in time has nothing to show here.
    if (!moved.accepted) return
    await sleep(Math.max(0, call.expiresAt! - Date.now() + 100))
    expect((await chat.view()).phase).toBe('waiting')
    await until(async () => (await turn.outcome()).status !== 'waiting')
    const end = (await chat.events()).find((event) => event.type === 'resolution')!
    expect(end).toMatchObject({ content: { status: 'expired' } })
    expect(end.at).toBeGreaterThanOrEqual(moved.expiresAt!)
  })

  test('reaches those who watch', async () => {
    const { chat, call } = await waiting(story)
    const watching = new AbortController()
    const shown: (number | null)[] = []
    const watched = (async () => {
      for await (const event of chat.watch({ signal: watching.signal })) {
        if (event.type === 'deadline_moved') shown.push(event.content.expiresInMs)
        if (shown.length === 1) return
      }
    })()
    await until(async () => {
      await chat.extendDeadline(call, { expiresInMs: 5 * minute })
      return shown.length > 0
    })
    watching.abort()
    await watched
    expect(shown[0]).toBe(5 * minute)
  })

  test('does not keep the call from being answered, in the same round', async () => {
    const { chat, call, turn } = await waiting(story)
    await chat.extendDeadline(call, { expiresInMs: null })
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
  })
})

overStores('a deadline that cannot be moved', (story) => {
  test('is one of a call that was answered: the answer is told, and nothing is written', async () => {
    const { chat, call, turn } = await waiting(story)
    await chat.deny(call, { reason: 'no' })
    await turn.outcome()
    const before = await chat.events()
    const late = await chat.extendDeadline(call, { expiresInMs: minute })
    expect(late).toMatchObject({
      accepted: false,
      resolution: { status: 'denied', value: { reason: 'no' }, who: 'ann' },
    })
    expect(await chat.events()).toEqual(before)
  })

  test('is one that has passed', async () => {
    const { chat, call, turn } = await waiting(story, 50)
    await until(async () => (await turn.outcome()).status !== 'waiting')
    const late = await chat.extendDeadline(call, { expiresInMs: minute })
    expect(late).toMatchObject({ accepted: false, resolution: { status: 'expired', who: 'system' } })
  })

  test('is one of a call that is not there, or of a round that is not', async () => {
    const { chat, call, runtime } = await waiting(story)
    const far = { expiresInMs: minute }
    await expect(chat.extendDeadline('no such call', far)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(chat.extendDeadline({ callId: call.callId, round: 2 }, far)).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    await expect(runtime.conversation('c2').extendDeadline(call.callId, far)).rejects.toMatchObject({
      code: 'call_not_found',
    })
    expect(await chat.events()).toHaveLength(4)
  })

  test.each([0, -1, 1.5, Number.NaN, '5', undefined, 3_155_760_000_001])('is not moved to %s', async (expiresInMs) => {
    const { chat, call } = await waiting(story)
    const wrong = chat.extendDeadline(call, { expiresInMs: expiresInMs as number })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(wrong).rejects.toThrow('expiresInMs')
    expect(await chat.approve(call)).toEqual({ accepted: true })
  })

  test('is one of a child agent, but those of its own calls are moved through the parent', async () => {
    const { agent: child } = till()
    const { boss } = bossOf([childTool('delegate', child)], [{ tool: 'delegate', args: { task: 'pay' } }])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const call = await onlyPendingOf(await chat.send('go'))
    const moved = await chat.extendDeadline(call, { expiresInMs: 90 * minute })
    expect(moved).toMatchObject({ accepted: true })
    const [asked] = (await runtime.conversation(call.conversationId).view()).pending
    expect({ accepted: true, expiresAt: asked!.expiresAt }).toEqual(moved)
    const [parentCall] = await runtime.store.pendingToolCalls('c1')
    expect(childIdOf(parentCall!.id)).toBe(call.conversationId)
    const refused = chat.extendDeadline(parentCall!.id, { expiresInMs: minute })
    await expect(refused).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(refused).rejects.toThrow('it waits for a child agent, which has no deadline')
  })
})
