import { expect, test } from 'vitest'
import { z } from 'zod'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore, WakeHint } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { recordedStore } from './recorded-store.ts'
import { linesOf, shapeOf } from './texts.ts'

/** Nothing is found by looking from time to time: what is missed stays missed. */
const unattended = { pollMs: 3_600_000, leaseMs: 3_600_000 }

function echo() {
  const model = scriptedModel(({ prompt }) => `heard ${linesOf(prompt).at(-1)}`)
  return { agent: defineAgent({ name: 'echo', model }), model }
}

overStores('a conversation that this process begins', (story) => {
  const reads = ['streamEvents', 'loadSince', 'pageEvents', 'pageSince', 'latestSummary']

  test('has its first turn without a reading of its log', async () => {
    const { store, counts, commits } = recordedStore(story.openStore())
    const { agent, model } = echo()
    const runtime = story.start({ agents: [agent], store, ...unattended })
    const chat = runtime.conversation('c1', { agent: 'echo' })
    expect(await (await chat.send('one')).outcome()).toMatchObject({ status: 'completed' })
    for (const read of reads) expect([read, counts[read] ?? 0]).toEqual([read, 0])
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: one'])
    expect(commits.map(({ fsmState }) => fsmState?.state)).toEqual(['running', 'idle'])
    expect((await store.getConversation('c1'))?.fsmState).toMatchObject({ state: 'idle', pending: [], lastSeq: 3 })
    expect((await chat.events()).map(({ seq }) => seq)).toEqual([1, 2, 3])
  })

  test('is the one that is there where another process has begun it at the same time', async () => {
    const store = story.openStore()
    const [here, there] = [echo(), echo()]
    const runtime = story.start({ agents: [here.agent], store })
    const other = story.start({ agents: [there.agent], store: story.reopen(store) })
    const send = async (node: typeof runtime, text: string) =>
      (await node.conversation('c1', { agent: 'echo' }).send(text, { whenBusy: 'queue' })).outcome()
    const outcomes = await Promise.all([send(runtime, 'here'), send(other, 'there')])
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed'])
    const [first, second] = [here, there]
      .flatMap(({ model }) => model.calls)
      .map(({ prompt }) => linesOf(prompt))
      .toSorted((one, next) => one.length - next.length)
    expect(first).toHaveLength(1)
    expect(second).toHaveLength(3)
    expect(second!.slice(0, 1)).toEqual(first)
  })
})

overStores('a conversation that rests as this process left it', (story) => {
  test('goes on without reading anything', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 42 })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'It is 42.' : { calls: [{ tool: 'look', args: {} }] },
    )
    const { store, counts, commits } = recordedStore(story.openStore())
    const runtime = story.start({ agents: [defineAgent({ name: 'looker', model, tools: [look] })], store })
    const chat = runtime.conversation('c1', { agent: 'looker' })
    await (await chat.send('one')).outcome()
    const before = { ...counts }
    const since = commits.length
    expect(await (await chat.send('two')).outcome()).toMatchObject({ status: 'completed', text: 'It is 42.' })
    for (const read of ['getConversation', 'streamEvents', 'loadSince', 'pageEvents', 'pageSince'])
      expect([read, counts[read]]).toEqual([read, before[read]])
    const cached = commits.slice(since).map(({ fsmState }) => fsmState?.state)
    expect(commits.slice(since).map((change) => change.key ?? change.resendKey)).toEqual([
      expect.stringMatching(/^send\//),
      ...[undefined, undefined, undefined],
    ])
    // What lists show is only written where it changes.
    expect(cached).toEqual(['running', undefined, undefined, 'idle'])
    expect((await store.getConversation('c1'))?.fsmState).toMatchObject({ state: 'idle', pending: [], lastSeq: 14 })
  })

  test('reads as running in lists as long as a turn runs', async () => {
    const seen: unknown[] = []
    const store = story.openStore()
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: async () => {
        const { status, fsmState } = (await store.getConversation('c1'))!
        seen.push([status, fsmState?.state])
        return 42
      },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? 'It is 42.' : { calls: [{ tool: 'look', args: {} }] },
    )
    const runtime = story.start({ agents: [defineAgent({ name: 'looker', model, tools: [look] })], store })
    const chat = runtime.conversation('c1', { agent: 'looker' })
    for (const text of ['one', 'two']) await (await chat.send(text)).outcome()
    expect(seen).toEqual([
      ['active', 'running'],
      ['active', 'running'],
    ])
  })

  test.each(['reject', 'steer', 'interrupt'] as const)(
    'is read again when another process has gone on with it (%s)',
    async (whenBusy) => {
      const store = story.openStore()
      const [here, there] = [echo(), echo()]
      const runtime = story.start({ agents: [here.agent], store, ...unattended })
      const other = story.start({ agents: [there.agent], store: story.reopen(store), ...unattended })
      const chat = runtime.conversation('c1', { agent: 'echo' })
      await (await chat.send('one')).outcome()
      await (await other.conversation('c1', { agent: 'echo' }).send('two')).outcome()
      await (await chat.send('three', { whenBusy })).outcome()
      const models = [here, there].flatMap(({ model }) => model.calls)
      const last = models.find(({ prompt }) => linesOf(prompt).at(-1) === 'user: three')!
      expect(linesOf(last.prompt)).toEqual([
        'user: one',
        'assistant: heard user: one',
        'user: two',
        'assistant: heard user: two',
        'user: three',
      ])
      expect((await chat.events()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    },
  )

  test('is not taken for one that was deleted elsewhere and begun anew, though that is as long', async () => {
    const store = story.openStore()
    const { agent, model } = echo()
    const runtime = story.start({ agents: [agent], store, ...unattended })
    const chat = runtime.conversation('c1', { agent: 'echo' })
    await (await chat.send('a secret')).outcome()
    const length = (await chat.events()).length
    const elsewhere = story.reopen(store)
    await elsewhere.deleteConversation('c1')
    await new Promise((resolve) => setTimeout(resolve, 5))
    const other = story.start({ agents: [echo().agent], store: elsewhere, ...unattended })
    await (await other.conversation('c1', { agent: 'echo' }).send('hello')).outcome()
    expect(await elsewhere.streamEvents('c1')).toHaveLength(length)
    await (await chat.send('again')).outcome()
    const last = model.calls.findLast(({ prompt }) => linesOf(prompt).at(-1) === 'user: again')
    if (last) expect(linesOf(last.prompt).join()).not.toContain('secret')
    expect(JSON.stringify(await chat.view())).not.toContain('secret')
    expect(shapeOf(await chat.events()).filter((shape) => shape === 'user_msg')).toHaveLength(2)
  })

  test('is refused to its former agent once another process has given it to another', async () => {
    const store = story.openStore()
    const heir = defineAgent({ name: 'heir', model: scriptedModel(() => 'I am the heir.') })
    const runtime = story.start({ agents: [echo().agent, heir], store, ...unattended })
    const chat = runtime.conversation('c1', { agent: 'echo' })
    await (await chat.send('one')).outcome()
    await (await chat.send('two')).outcome()
    const before = await chat.events()
    await story.reopen(store).putConversation('c1', { agent: 'heir' })
    for (const options of [{}, { key: 'k' }, { whenBusy: 'steer' }, { whenBusy: 'interrupt' }] as const) {
      await expect(chat.send('three', options)).rejects.toMatchObject({ code: 'agent_mismatch' })
    }
    expect(await chat.events()).toEqual(before)
    const turn = await runtime.conversation('c1', { agent: 'heir' }).send('three')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'I am the heir.' })
  })

  test('is not worked on by an agent it was refused to', async () => {
    const store = story.openStore()
    const heir = defineAgent({ name: 'heir', model: scriptedModel(() => 'I am the heir.') })
    const asleep = story.start({ agents: [heir], store: story.reopen(store), work: false })
    const turn = await asleep.conversation('c1', { agent: 'heir' }).send('one')
    const deaf: Store = { ...store, claimDue: async () => [], onWake: () => () => {} }
    const runtime = story.start({ agents: [echo().agent, heir], store: deaf, ...unattended })
    await expect(runtime.conversation('c1', { agent: 'echo' }).send('two')).rejects.toMatchObject({
      code: 'agent_mismatch',
    })
    // What begins after the refusal has begun by then, and closing waits for it.
    await (await runtime.conversation('c2', { agent: 'echo' }).send('three')).outcome()
    await runtime.close()
    expect(shapeOf(await store.streamEvents('c1'))).toEqual(['user_msg'])
    story.start({ agents: [echo().agent, heir], store, ...unattended })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'I am the heir.' })
  })

  test('is found busy when another process works on it', async () => {
    const store = story.openStore()
    const slow = pacedModel()
    const runtime = story.start({ agents: [echo().agent], store, ...unattended })
    const other = story.start({
      agents: [defineAgent({ name: 'echo', model: slow })],
      store: story.reopen(store),
      ...unattended,
    })
    const chat = runtime.conversation('c1', { agent: 'echo' })
    await (await chat.send('one')).outcome()
    const theirs = await other.conversation('c1', { agent: 'echo' }).send('two')
    await expect(chat.send('three')).rejects.toMatchObject({ code: 'conversation_busy' })
    await slow.answer(1, 'done')
    expect(await theirs.outcome()).toMatchObject({ status: 'completed' })
  })

  test('what another writer appends before it is resumed is not missed', async () => {
    const store = story.openStore()
    const model = pacedModel()
    const patient = { agents: [defineAgent({ name: 'patient', model })], ...unattended }
    const runtime = story.start({ ...patient, store: cancelledAtOnce(store, 'second') })
    const chat = runtime.conversation('c1', { agent: 'patient' })
    const first = await chat.send('first')
    await model.answer(1, 'yes')
    await first.outcome()
    const turn = await chat.send('second')
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
  })

  test.each(['while the owner here reads it', 'while the owner here writes'] as const)(
    'a waiter learns of an end that another process wrote before the wait began, %s',
    async (moment) => {
      const store = story.openStore()
      const model = pacedModel()
      const slow = slowStore(store)
      const runtime = story.start({
        agents: [defineAgent({ name: 'patient', model })],
        store: slow.store,
        ...unattended,
      })
      const turn = await runtime.conversation('c1', { agent: 'patient' }).send('one')
      await model.called(1)
      const { turnId } = turn
      const ended = { type: 'turn_ended', content: { turnId, status: 'failed', reason: 'elsewhere' } } as const
      if (moment === 'while the owner here writes') {
        slow.hold('commit')
        await model.answer(1, 'too late')
        await slow.held()
        await store.releaseLease('c1', slow.epoch())
        await store.commit('c1', { events: [ended] })
      } else {
        slow.hold('pageEvents')
        await store.commit('c1', { events: [ended], epoch: slow.epoch() })
      }
      if (moment === 'while the owner here reads it') await slow.held()
      const outcome = turn.outcome()
      await new Promise((resolve) => setTimeout(resolve, 10))
      slow.goOn()
      expect(await outcome).toMatchObject({ status: 'failed', reason: 'elsewhere' })
    },
  )

  test('what was heard of the log before, which was longer, is asked for once', async () => {
    const model = pacedModel()
    const { store, reads, hint } = hintedStore(story.openStore())
    const runtime = story.start({ agents: [defineAgent({ name: 'patient', model })], store, ...unattended })
    const turn = await runtime.conversation('c1', { agent: 'patient' }).send('anew')
    hint({ tenant: 'default', id: 'c1', seq: 90 })
    await model.called(1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(reads()).toBeLessThan(10)
    await model.answer(1, 'yes')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'yes' })
  })
})

/** The same store, where the next call of a method can be held up. */
function slowStore(store: Store) {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let held: string | null = null
  let epoch = 0
  const wrapped = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrapped(store.forTenant(tenant))
        if (typeof member !== 'function' || !['commit', 'pageEvents', 'claimLease'].includes(String(name)))
          return member
        return async (...args: unknown[]) => {
          if (name === held) {
            held = null
            reached.resolve()
            await gate.promise
          }
          const result = await member.apply(object, args)
          if (result?.epoch !== undefined) epoch = result.epoch
          return result
        }
      },
    })
  return {
    store: wrapped(store),
    hold: (method: 'commit' | 'pageEvents') => {
      held = method
    },
    held: () => reached.promise,
    goOn: () => gate.resolve(),
    epoch: () => epoch,
  }
}

/** The same store, where a message is followed by a hint of much more than there is. It fails when it is read without end. */
function hintedStore(store: Store) {
  const listeners: ((hint: WakeHint) => void)[] = []
  const hint = (given: WakeHint): void => {
    for (const listener of listeners) listener(given)
  }
  let count = 0
  const wrapped = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrapped(store.forTenant(tenant))
        if (typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          if (name === 'pageEvents' && ++count > 50) throw new StoreError('The store was read without end.')
          const result: unknown = await member.apply(object, args)
          if (name === 'commit') hint({ tenant: 'default', id: 'c1', seq: 80 })
          return result
        }
      },
    })
  const onWake: Store['onWake'] = (listener) => {
    listeners.push(listener)
    return store.onWake(listener)
  }
  return {
    store: new Proxy(wrapped(store), {
      get: (object, name) => (name === 'onWake' ? onWake : Reflect.get(object, name)),
    }),
    reads: () => count,
    hint,
  }
}

/** The same store, where the turn of a message is cancelled just before its send is acknowledged. */
function cancelledAtOnce(store: Store, text: string): Store {
  const wrapped = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrapped(store.forTenant(tenant))
        if (name !== 'commit' || typeof member !== 'function') return member
        return async (id: string, change: Change) => {
          const result = await member.call(object, id, change)
          const message = change.events.find((event) => event.type === 'user_msg')
          if (message && JSON.stringify(message).includes(text)) {
            const { turnId } = message.content
            await store.commit(id, { events: [{ type: 'cancel_requested', content: { turnId, who: 'somebody' } }] })
          }
          return result
        }
      },
    })
  return wrapped(store)
}
