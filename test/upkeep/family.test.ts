import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { callIdOfChild } from '../../src/log/child-call.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import { bossOf, childIdsOf, childTool } from '../stories/child-agents.ts'
import { dyingBefore } from '../stories/dying-before.ts'
import { gate } from '../stories/gate.ts'
import { mortalStore } from '../stories/mortal-store.ts'
import { overStores } from '../stories/over-stores.ts'
import { until } from '../stories/until.ts'

const delegate = { tool: 'delegate', args: { task: 'x' } }

overStores('what the doctor says of a parent and its child agent', (story) => {
  test('a child that ended while its parent waits and nothing wakes it is found, and a repair lets it tell', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok') })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const mortal = mortalStore(data)
    const isDead = gate()
    const store = dyingBefore(
      mortal.store,
      ({ events }) => events.some(({ type }) => type === 'resolution'),
      () => {
        mortal.kill()
        isDead.open()
      },
    )
    const first = story.start({ agents: [boss], store, leaseMs: 100 })
    const { turnId } = await first.conversation('c1', { agent: 'boss' }).send('go')
    await isDead.opened
    const [childId] = await childIdsOf({ events: () => data.streamEvents('c1') })
    const lease = await until(() => data.acquireLease(childId!, 'somebody', 60_000))
    await data.commit(childId!, { events: [], epoch: lease.epoch, wakeAt: null, lease: 'release' })

    expect(await codesIn(data)).toEqual([`wake_up_missing in ${childId}`])
    await examineStore(data, { repair: true })
    expect(await codesIn(data)).toEqual([])
    const second = story.start({ agents: [boss], store: story.reopen(data), pollMs: 20 })
    expect(await second.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
  })

  test('a child that waits for a person while its call has ended is found, and a repair ends it', async () => {
    const ask = defineTool({
      ...{ name: 'ask', description: 'Ask', input: z.object({}) },
      ...{ executor: 'human', output: z.string() },
    })
    const model = scriptedModel({ calls: [{ tool: 'ask', args: {} }] })
    const child = defineAgent({ name: 'child', model, tools: [ask] })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const runtime = story.start({ agents: [boss], pollMs: 20 })
    const { store } = runtime
    const chat = runtime.conversation('c1', { agent: 'boss' })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'waiting' })
    const [childId] = await childIdsOf({ events: () => store.streamEvents('c1') })
    await store.resolveToolCall(callIdOfChild(childId!)!, 'resolved', { ok: true, result: 'told by hand' })
    await until(async () => (await chat.view()).phase === 'idle')

    expect(await codesIn(store)).toEqual([`wake_up_missing in ${childId}`])
    await examineStore(store, { repair: true })
    await until(async () => (await store.streamEvents(childId!)).at(-1)?.type === 'turn_ended')
    expect(await runtime.conversation(childId!).outcome()).toMatchObject({ status: 'cancelled' })
    expect(await codesIn(store)).toEqual([])
  })

  test('a child that ended in another way than its parent was told is found', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok') })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    const data = story.openStore()
    const liar = dyingBefore(
      data,
      ({ events }) => events.some(({ type }) => type === 'resolution'),
      (_, { events, resolve = [] }) => {
        const lie = { ok: false, error: 'it failed' }
        for (const { type, content } of events) if (type === 'resolution') Object.assign(content, { value: lie })
        for (const row of resolve) Object.assign(row, { status: 'errored', result: lie })
      },
    )
    const runtime = story.start({ agents: [boss], store: liar })
    await (await runtime.conversation('c1', { agent: 'boss' }).send('go')).outcome()
    await runtime.close()
    const [childId] = await childIdsOf({ events: () => data.streamEvents('c1') })
    expect(await codesIn(data)).toEqual([`parent_disagrees in ${childId}`])
  })
})

async function codesIn(store: Pick<Store, 'upkeep'>): Promise<string[]> {
  const findings: Finding[] = []
  await examineStore(store, { onFinding: (found) => findings.push(found) })
  return findings.map(({ code, conversation }) => `${code} in ${conversation}`)
}
