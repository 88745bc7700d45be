import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { InboxItem } from '../../src/runtime/read/lists.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { nextMillisecond } from './until.ts'

const soon = { leaseMs: 300, pollMs: 20 }

const two = defineFlow({
  name: 'two',
  version: 1,
  run: async (flow, input) => {
    if (input === 'again') return flow.request('pay', { cents: 5 })
    const first = await flow.suspend('first?', { schema: z.string() })
    const second = await Promise.race([flow.suspend<string>('second?'), flow.suspend<string>('or third?')])
    if (second === 'again') return flow.continueAs('again')
    return [first, second]
  },
})

const pay = defineTool({
  ...{ name: 'pay', description: 'Pay', input: { type: 'object' }, approval: 'required', run: () => 'paid' },
})
const clerk = () =>
  defineAgent({
    name: 'clerk',
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'user' ? { calls: [{ tool: 'pay', args: {} }] } : 'Done.',
    ),
    tools: [pay],
  })

function start(story: StoryContext) {
  const store = story.openStore()
  return story.start({ agents: [clerk()], flows: [two], store, ...soon })
}

const briefly = (items: readonly InboxItem[]) =>
  items.map((item) => (item.kind === 'flow' ? [item.conversationId, item.seq, item.tag] : [item.conversationId]))

overStores('a question of a session in the inbox', (story) => {
  test('has its flow, seq, tag and schema, beside the calls, the newest first, page by page', async () => {
    const runtime = start(story)
    await runtime.flow(two, 's1').start(null)
    await (await runtime.conversation('c1', { agent: 'clerk' }).send('go')).outcome()
    await nextMillisecond()
    await runtime.flow(two, 's2').start(null)
    await nextMillisecond()
    await runtime.flow(two, 's1').resume('one')
    const items = await runtime.inbox()
    expect(items.map(({ kind }) => kind)).toEqual(['flow', 'flow', 'flow', 'approval'])
    expect(items.find(({ conversationId }) => conversationId === 's2')).toMatchObject({
      ...{ kind: 'flow', flow: 'two', conversationId: 's2', seq: 2, tag: 'first?', schema: { type: 'string' } },
      ...{ at: (await runtime.store.streamEvents('s2'))[1]!.at, agentMissing: false },
    })
    expect(briefly(items).slice(2)).toEqual([['s2', 2, 'first?'], ['c1']])
    const paged: InboxItem[] = []
    for (let before: string | undefined; ; ) {
      const [item] = await runtime.inbox({ limit: 1, ...(before === undefined ? {} : { before }) })
      if (!item) break
      paged.push(item)
      before = item.callId
    }
    expect(paged).toEqual(items)
    expect(await runtime.store.pendingToolCalls('s1')).toHaveLength(2)
    expect(await examineStore(runtime.store)).toMatchObject({ faults: 0, notices: 0 })
  })

  test('is answered by resolve, once, also where the code is not; it is in no other tenant', async () => {
    const store = story.openStore()
    const worker = story.start({ agents: [], flows: [two], store, ...soon })
    const front = story.start({
      ...{ agents: [], store: story.reopen(store), ...soon },
      ...{
        tenant: ({ tenant: of }: Scope) => String(of ?? 'default'),
        who: ({ user }: Scope) => String(user ?? 'system'),
      },
      restoreScope: (tenant) => createScope({ tenant }) as Scope,
    })
    await worker.flow(two, 's1').start(null)
    const [item] = await front.inbox()
    expect(item).toMatchObject({ agentMissing: true })
    const ann = front.as(createScope({ user: 'ann' }) as Scope)
    expect(await front.as(createScope({ user: 'ann', tenant: 'another' }) as Scope).inbox()).toEqual([])
    const foreign = front.as(createScope({ user: 'eve', tenant: 'another' }) as Scope)
    await expect(foreign.resolve('s1', item!, 'x')).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(ann.resolve('s1', item!, 7)).rejects.toMatchObject({ code: 'invalid_answer' })
    const answers = await Promise.all(['x', 'y', 'z'].map((value) => ann.resolve('s1', item!, value)))
    const won = ['x', 'y', 'z'].filter((_, n) => answers[n]!.accepted)
    expect(won).toHaveLength(1)
    const lost = answers.filter(({ accepted }) => !accepted)
    const resolution = { status: 'resolved', who: 'ann', value: won[0], at: expect.any(Number) as number }
    expect(lost).toEqual([
      { accepted: false, resolution },
      { accepted: false, resolution },
    ])
    expect(await worker.flow(two, 's1').outcome()).toEqual({ status: 'waiting', tag: 'second?' })
    expect(await ann.resolve('s1', item!.callId, 'late')).toEqual({ accepted: false, resolution })
  })

  test('takes the same key as the same answer, and never an answer that was meant for another', async () => {
    const runtime = start(story)
    await runtime.flow(two, 's1').start(null)
    const [first] = await runtime.inbox()
    expect(await runtime.resolve('s1', first!, 'one', { key: 'k' })).toEqual({ accepted: true })
    await runtime.flow(two, 's1').outcome()
    expect(await runtime.resolve('s1', first!, 'one', { key: 'k' })).toEqual({ accepted: true })
    await expect(runtime.resolve('s1', first!, 'two', { key: 'k' })).rejects.toMatchObject({ code: 'key_reused' })
    const second = (await runtime.inbox()).find((item) => item.kind === 'flow' && item.tag === 'second?')!
    const third = (await runtime.inbox()).find((item) => item.kind === 'flow' && item.tag === 'or third?')!
    expect(await runtime.resolve('s1', third, 'again')).toEqual({ accepted: true })
    expect(await runtime.flow(two, 's1').outcome()).toMatchObject({ tag: { type: 'request', kind: 'pay' } })
    expect(await runtime.resolve('s1', second, 'late')).toMatchObject({
      ...{ accepted: false, resolution: { status: 'cancelled', who: 'system' } },
    })
    expect(await runtime.resolve('s1', third, 'late')).toMatchObject({
      accepted: false,
      resolution: { value: 'again' },
    })
    expect(briefly(await runtime.inbox())).toEqual([['s1', 8, { type: 'request', kind: 'pay', payload: { cents: 5 } }]])
    for (const call of [`flow:s1:1`, 'flow:s1:99', 'flow:none:2']) {
      await expect(runtime.resolve('s1', call, 1), call).rejects.toMatchObject({
        code: expect.stringMatching(/call_not_found|not_a_conversation/),
      })
    }
    await runtime.flow(two, 's1').resume('paid')
    expect(await runtime.inbox()).toEqual([])
    expect(await examineStore(runtime.store)).toMatchObject({ faults: 0, notices: 0 })
  })

  test('of a fork is its own: an answer to one leaves the other waiting', async () => {
    const runtime = start(story)
    const session = runtime.flow(two, 's1')
    await session.start(null)
    const fork = await session.fork('s2')
    await session.fork('s3', { at: 1 })
    expect(briefly(await runtime.inbox()).toSorted()).toEqual([
      ['s1', 2, 'first?'],
      ['s2', 2, 'first?'],
    ])
    const own = (await runtime.inbox()).find(({ conversationId }) => conversationId === 's2')!
    expect(await runtime.resolve('s2', own, 'mine')).toEqual({ accepted: true })
    expect(await fork.outcome()).toEqual({ status: 'waiting', tag: 'second?' })
    expect([await session.status(), await session.pending()]).toEqual(['waiting', 'first?'])
    expect(await examineStore(runtime.store)).toMatchObject({ faults: 0, notices: 0 })
    await fork.delete()
    expect(briefly(await runtime.inbox())).toEqual([['s1', 2, 'first?']])
  })

  test('whose row is lost or stale is put right by the doctor, and its answer is judged by the log', async () => {
    const runtime = start(story)
    const session = runtime.flow(two, 's1')
    await session.start(null)
    const [item] = await runtime.inbox()
    await runtime.store.upsertToolCall('s1', { id: item!.callId, kind: 'flow', status: 'resolved', round: 2 })
    expect(await runtime.inbox()).toEqual([])
    expect(await examineStore(runtime.store, { repair: true })).toMatchObject({ faults: 0, repaired: 1 })
    expect(await runtime.inbox()).toEqual([item])
    await session.resume('one')
    await runtime.store.upsertToolCall('s1', { id: item!.callId, kind: 'flow', round: 2 })
    expect(await runtime.resolve('s1', item!, 'late')).toMatchObject({ accepted: false, resolution: { value: 'one' } })
    expect(await examineStore(runtime.store, { repair: true })).toMatchObject({ faults: 0, repaired: 1 })
    expect((await runtime.inbox()).map(({ callId }) => callId)).not.toContain(item!.callId)

    // As an earlier version left it.
    const op = { kind: 'suspend', tag: 'first?', schema: { type: 'string' } } as const
    await runtime.store.commit('old', {
      events: [
        { type: 'flow_started', content: { flow: 'two', version: '1', input: null, who: 'ann' } },
        { type: 'flow_opened', content: { position: 1, asked: 1, op } },
      ],
      ...{ wakeAt: null, conversation: { kind: 'flow', agent: 'flow:two', status: 'suspended' } },
    })
    const [waiting] = await runtime.flow(two, 'old').suspensions()
    expect(waiting).toMatchObject({ seq: 2, tag: 'first?' })
    expect(briefly(await runtime.inbox())).not.toContainEqual(['old', 2, 'first?'])
    expect(await examineStore(runtime.store, { repair: true })).toMatchObject({ faults: 0, repaired: 1 })
    expect(briefly(await runtime.inbox())).toContainEqual(['old', 2, 'first?'])
  })

  test('has no deadline, and is not ended behind the back of its flow', async () => {
    const runtime = start(story)
    await runtime.flow(two, 's1').start(null)
    const [item] = await runtime.inbox()
    const refused = { code: 'invalid_argument' }
    await expect(runtime.store.scheduleExpiry('s1', item!.callId, 5)).rejects.toMatchObject(refused)
    await expect(runtime.store.resolveToolCall(item!.callId, 'resolved', 1)).rejects.toMatchObject(refused)
    const row = { id: item!.callId, kind: 'flow' as const, expiresInMs: 5 }
    await expect(runtime.store.upsertToolCall('s1', row)).rejects.toMatchObject(refused)
    expect(await runtime.inbox()).toEqual([item])
  })
})
