import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { BulkJob } from '../../src/runtime/bulk/bulk-request.ts'
import type { Bulk } from '../../src/runtime/bulk/bulk-verbs.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { childTool } from './child-agents.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'
import { nextMillisecond, until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: () => 'paid',
})

/** Its model asks to pay, and then waits for approval. */
const till = defineAgent({
  name: 'till',
  model: scriptedModel(() => ({ calls: [{ tool: 'pay', args: {} }] })),
  tools: [pay],
})

const perSecond = 1_000

async function ended({ bulk }: { readonly bulk: Bulk }, { id }: Pick<BulkJob, 'id'>): Promise<BulkJob> {
  return until(async () => {
    const job = await bulk.get(id)
    return job?.finishedAt ? job : null
  })
}

type Started = Runtime & { readonly store: Store }

function started(story: StoryContext, agents = [till], more: object = {}): Started {
  return story.start({ agents, pollMs: 10, ...more }) as unknown as Started
}

async function waiting(runtime: Pick<Runtime, 'conversation'>, ids: readonly string[]): Promise<void> {
  for (const id of ids) await pendingOf(await runtime.conversation(id, { agent: 'till' }).send('Pay'))
}

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`)

async function cancelsIn(store: Store, id: string): Promise<string[]> {
  const events = await store.streamEvents(id)
  return events.flatMap(({ type, content }) => (type === 'cancel_requested' ? [content.who] : []))
}

overStores('bulk jobs', (story) => {
  test('cancel every conversation that matches, once, in the name of the operator', async () => {
    const runtime = started(story)
    await waiting(runtime, idsOf(20))
    await runtime.store.putConversation('other', { agent: 'other' })
    const request = { action: 'cancel', filter: { agent: 'till', status: 'waiting' } } as const
    expect(await runtime.bulk.count(request)).toEqual({ matches: 20, isPartial: false })
    const job = await runtime.bulk.start({ ...request, who: 'ops-ann', perSecond })
    expect(job).toMatchObject({
      action: 'cancel',
      who: 'ops-ann',
      tenant: 'default',
      state: 'running',
      finishedAt: null,
    })
    expect(await ended(runtime, job)).toMatchObject({ state: 'done', done: 20, skipped: 0, failed: 0, failures: [] })
    for (const id of idsOf(20)) {
      expect(await cancelsIn(runtime.store, id)).toEqual(['ops-ann'])
      expect(await runtime.conversation(id).outcome()).toMatchObject({ status: 'cancelled' })
    }
  })

  test('leave alone what came after the start: conversations, and turns of conversations that were there', async () => {
    const api = started(story, [till], { work: false })
    const worker = story.start({ agents: [till], store: story.reopen(api.store), pollMs: 10 })
    await waiting(worker, ['old', 'ended'])
    await worker.conversation('ended').cancel()
    await worker.close()
    const job = await api.bulk.start({ action: 'cancel', perSecond })
    const next = story.start({ agents: [till], store: story.reopen(api.store), pollMs: 60_000 })
    await waiting(next, ['ended', 'new'])
    await next.close()
    started(story, [till], { store: story.reopen(api.store) })
    expect(await ended(api, job)).toMatchObject({ state: 'done', done: 1, skipped: 1, skippedFor: { began_later: 1 } })
    expect(await cancelsIn(api.store, 'old')).toHaveLength(1)
    expect(await cancelsIn(api.store, 'ended')).toHaveLength(1)
    expect(await cancelsIn(api.store, 'new')).toEqual([])
  })

  test('cancel what is queued behind an open turn, too', async () => {
    const runtime = started(story)
    await waiting(runtime, ['c0'])
    await runtime.conversation('c0').send('And again', { whenBusy: 'queue' })
    await ended(runtime, await runtime.bulk.start({ action: 'cancel', perSecond }))
    await until(async () => (await runtime.conversation('c0').view()).phase === 'idle')
    const ends = (await runtime.store.streamEvents('c0')).filter(({ type }) => type === 'turn_ended')
    expect(ends.map(({ content }) => Object(content).status)).toEqual(['cancelled', 'cancelled'])
  })

  test('retry turns that failed, and no others unless they are asked to', async () => {
    let isDown = true
    const model = scriptedModel(() => (isDown ? { error: { status: 400 } } : 'All is well.'))
    const desk = defineAgent({ name: 'desk', model, retry: false })
    const runtime = started(story, [desk] as never)
    const say = async (id: string) => (await runtime.conversation(id, { agent: 'desk' }).send('Hello')).outcome()
    for (const id of ['c0', 'c1']) expect(await say(id)).toMatchObject({ status: 'failed' })
    isDown = false
    expect(await say('fine')).toMatchObject({ status: 'completed' })
    const job = await ended(runtime, await runtime.bulk.start({ action: 'retry', who: 'ops-ann', perSecond }))
    expect(job).toMatchObject({ state: 'done', done: 2, skipped: 1, failed: 0, skippedFor: { ended_otherwise: 1 } })
    for (const id of ['c0', 'c1']) {
      expect(await runtime.conversation(id).outcome()).toMatchObject({ status: 'completed', text: 'All is well.' })
      const said = (await runtime.store.streamEvents(id)).filter(({ type }) => type === 'user_msg')
      expect(said.map(({ content }) => Object(content).who)).toEqual(['system', 'system'])
    }
    const all = { action: 'retry', filter: { ended: ['completed'] }, perSecond } as const
    expect(await ended(runtime, await runtime.bulk.start(all))).toMatchObject({ done: 3, skipped: 0 })
  })

  test('retry turns for the users whose turns they were, never for the operator or the system', async () => {
    let isDown = true
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, { scope }) => void seen.push(scope),
    })
    const model = scriptedModel(({ prompt }) => {
      if (isDown) return { error: { status: 400 } }
      return prompt.at(-1)?.role === 'tool' ? 'Seen.' : { calls: [{ tool: 'look', args: {} }] }
    })
    const desk = defineAgent({ name: 'desk', model, tools: [look], retry: false })
    const restoreScope = (tenant: string, user: string) => createScope({ tenant, user, assigns: { of: user } })
    const runtime = started(story, [desk] as never, { restoreScope })
    const users = ['ann', 'bob']
    for (const by of [{ who: 'ops' }, {}]) {
      isDown = true
      for (const user of users) {
        const chat = runtime.as(createScope({ user })).conversation(user, { agent: 'desk' })
        expect(await (await chat.send('Look')).outcome()).toMatchObject({ status: 'failed' })
      }
      isDown = false
      const job = await ended(runtime, await runtime.bulk.start({ action: 'retry', perSecond, ...by }))
      expect(job).toMatchObject({ done: 2, who: 'system', ...by })
      for (const user of users)
        expect(await runtime.conversation(user).outcome()).toMatchObject({ status: 'completed' })
    }
    const scopes = users.map((user) => restoreScope('default', user))
    expect(seen).toHaveLength(4)
    expect(seen).toEqual(expect.arrayContaining(scopes))
  })

  test('never retry past a tool that may have had an effect, unless they are told to', async () => {
    const refund = defineTool({ name: 'refund', description: 'Refund', input: z.object({}), run: () => 'refunded' })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? { error: { status: 400 } } : { calls: [{ tool: 'refund', args: {} }] },
    )
    const desk = defineAgent({ name: 'desk', model, tools: [refund], retry: false })
    const runtime = started(story, [desk] as never)
    await (await runtime.conversation('c0', { agent: 'desk' }).send('Refund')).outcome()
    const careful = await ended(runtime, await runtime.bulk.start({ action: 'retry', perSecond }))
    expect(careful).toMatchObject({ done: 0, skipped: 1, skippedFor: { force_needed: 1 } })
    const forced = await ended(runtime, await runtime.bulk.start({ action: 'retry', force: true, perSecond }))
    expect(forced).toMatchObject({ done: 1, skipped: 0 })
  })

  test('never retry a turn that began after the start', async () => {
    const failing = () =>
      defineAgent({ name: 'desk', model: scriptedModel(() => ({ error: { status: 400 } })), retry: false })
    const api = started(story, [failing()] as never, { work: false })
    const say = async () => {
      const node = story.start({ agents: [failing()], store: story.reopen(api.store), pollMs: 60_000 })
      const turn = await node.conversation('c0', { agent: 'desk' }).send('Hello')
      expect(await turn.outcome()).toMatchObject({ status: 'failed' })
      await node.close()
    }
    await say()
    await nextMillisecond()
    const job = await api.bulk.start({ action: 'retry', perSecond })
    await nextMillisecond()
    await say()
    started(story, [failing()] as never, { store: story.reopen(api.store) })
    expect(await ended(api, job)).toMatchObject({ done: 0, skipped: 1, skippedFor: { began_later: 1 } })
    expect((await api.store.streamEvents('c0')).filter(({ type }) => type === 'user_msg')).toHaveLength(2)
  })

  test('leave child agents to the conversations that they work for', async () => {
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'ask_till', args: { task: 'Pay' } }] },
    )
    const desk = defineAgent({ name: 'desk', model, tools: [childTool('ask_till', till)] })
    const runtime = started(story, [desk, till] as never)
    const [call] = await pendingOf(await runtime.conversation('c0', { agent: 'desk' }).send('Pay'))
    expect(call).toMatchObject({ conversationId: expect.not.stringMatching(/^c0$/) })
    const request = { action: 'cancel', filter: { agent: 'till' }, perSecond } as const
    expect(await runtime.bulk.count(request)).toEqual({ matches: 0, isPartial: false })
    expect(await ended(runtime, await runtime.bulk.start(request))).toMatchObject({ done: 0, skipped: 0 })
    expect(await runtime.inbox()).toMatchObject([{ callId: call!.callId }])
  })

  test('stop after the conversations under way, and stay stopped', async () => {
    const runtime = started(story)
    await waiting(runtime, idsOf(30))
    const job = await runtime.bulk.start({ action: 'cancel', perSecond: 10 })
    await until(async () => (await runtime.bulk.get(job.id))!.done > 0)
    expect(await runtime.bulk.stop(job.id)).toBe(true)
    const { state, done } = await ended(runtime, job)
    expect(state).toBe('stopped')
    expect(done).toBeLessThan(30)
    expect(await runtime.bulk.stop(job.id)).toBe(false)
    // A process works on one job at a time: what it still did for the one before would be done by now.
    await ended(runtime, await runtime.bulk.start({ action: 'cancel', filter: { text: 'no such text' } }))
    const cancelled = await Promise.all(idsOf(30).map((id) => cancelsIn(runtime.store, id)))
    expect(cancelled.filter(({ length }) => length > 0)).toHaveLength(done)
  })

  test('go on in another process where the one before left off', async () => {
    const first = started(story)
    await waiting(first, idsOf(30))
    const job = await first.bulk.start({ action: 'cancel', perSecond: 20 })
    await until(async () => (await first.bulk.get(job.id))!.done > 0)
    await first.close()
    expect(await first.store.jobs!.get(job.id)).toMatchObject({ state: 'running', done: 8 })
    const other = started(story, [till], { store: story.reopen(first.store) })
    await until(async () => (await other.bulk.get(job.id))!.done > 8)
    await other.bulk.stop(job.id)
    const { done } = await ended(other, job)
    const cancelled = await Promise.all(idsOf(30).map((id) => cancelsIn(other.store, id)))
    expect(cancelled.filter(({ length }) => length === 1)).toHaveLength(done)
    expect(cancelled.filter(({ length }) => length > 1)).toEqual([])
  })

  test('tell what failed and why, without stopping for it', async () => {
    const runtime = started(story)
    await waiting(runtime, ['c0', 'c1'])
    await runtime.close()
    const broken = breaking(runtime.store, 'c0')
    const other = started(story, [till], { store: broken })
    const job = await ended(other, await other.bulk.start({ action: 'cancel', perSecond }))
    expect(job).toMatchObject({ state: 'done', done: 1, failed: 1, failures: [{ id: 'c0', error: 'the log is odd' }] })
  })

  test('are one job under one id, and refuse the id for another', async () => {
    const runtime = started(story, [till], { work: false })
    const job = await runtime.bulk.start({ action: 'cancel', id: 'nightly' })
    expect(await runtime.bulk.start({ action: 'cancel', id: 'nightly' })).toEqual(job)
    await expect(runtime.bulk.start({ action: 'retry', id: 'nightly' })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    expect((await runtime.bulk.list()).map(({ id }) => id)).toEqual(['nightly'])
    expect(await runtime.bulk.get('weekly')).toBeNull()
  })

  test('touch no conversation of another tenant', async () => {
    const runtime = started(story)
    await waiting(runtime, ['c0'])
    const job = await ended(runtime, await runtime.bulk.start({ action: 'cancel', tenant: 'acme', perSecond }))
    expect(job).toMatchObject({ tenant: 'acme', done: 0, skipped: 0 })
    expect(await cancelsIn(runtime.store, 'c0')).toEqual([])
  })

  test('end the turn of what is quarantined, also where a process died once it had asked for that', async () => {
    const before = started(story)
    await waiting(before, ['c0'])
    await before.close()
    await quarantine(before.store, 'c0')
    const api = started(story, [till], { store: story.reopen(before.store), work: false })
    const job = await api.bulk.start({ action: 'cancel', who: 'ops-ann', perSecond })
    const [first] = await api.store.streamEvents('c0')
    const { turnId } = first!.content as { turnId: string }
    const asked = { type: 'cancel_requested', content: { turnId, who: 'ops-ann' } } as const
    await api.store.commit('c0', { events: [asked], key: `job/${job.id}` })
    started(story, [till], { store: story.reopen(before.store) })
    expect(await ended(api, job)).toMatchObject({ state: 'done', done: 1, skipped: 0 })
    expect(await cancelsIn(api.store, 'c0')).toEqual(['ops-ann'])
    expect((await api.store.streamEvents('c0')).at(-1)).toMatchObject({ type: 'turn_ended' })
  })

  test('release what is quarantined, and nothing else', async () => {
    const runtime = started(story)
    await waiting(runtime, ['c0', 'c1'])
    await runtime.close()
    await quarantine(runtime.store, 'c0')
    const other = started(story, [till], { store: story.reopen(runtime.store) })
    expect(await other.bulk.count({ action: 'unquarantine' })).toEqual({ matches: 1, isPartial: false })
    const job = await ended(other, await other.bulk.start({ action: 'unquarantine', perSecond }))
    expect(job).toMatchObject({ done: 1, skipped: 0 })
    expect((await other.store.getConversation('c0'))?.quarantine).toBeUndefined()
  })

  test('never release what was quarantined after the start', async () => {
    const api = started(story, [till], { work: false })
    const worker = story.start({ agents: [till], store: story.reopen(api.store), pollMs: 10 })
    await waiting(worker, ['c0'])
    await worker.close()
    await quarantine(api.store, 'c0')
    const job = await api.bulk.start({ action: 'unquarantine', perSecond })
    await api.unquarantine('c0')
    await nextMillisecond()
    await quarantine(api.store, 'c0')
    started(story, [till], { store: story.reopen(api.store) })
    expect(await ended(api, job)).toMatchObject({ done: 0, skipped: 1, skippedFor: { began_later: 1 } })
    expect((await api.store.getConversation('c0'))?.quarantine).toBeDefined()
  })
})

/** Five holders in a row that let their leases lapse. */
async function quarantine(store: Store, id: string): Promise<void> {
  for (let holder = 0; holder < 6; holder++) {
    await until(async () => {
      const claimed = await store.claimLease(id, `h${holder}`, 1, { suspects: true })
      return claimed.type === 'taken' || claimed.type === 'quarantined'
    })
  }
  await until(async () => (await store.getConversation(id))?.quarantine)
}

/** A store that cannot commit to one conversation, and never will. */
function breaking(store: Store, broken: string): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (name === 'forTenant') return (tenant: string) => breaking(target.forTenant(tenant) as Store, broken)
      if (name !== 'commit' || typeof member !== 'function') return member
      return async (id: string, change: { readonly events: readonly unknown[] }) => {
        if (id === broken && change.events.length > 0) throw new Error('the log is odd')
        return member.call(target, id, change)
      }
    },
  })
}
