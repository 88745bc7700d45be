import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { AnyState, Turn } from '../../src/define/turn.ts'
import { baseOf } from '../../src/log/state.ts'
import type { Change } from '../../src/store/change.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { meddledStore } from './meddled-store.ts'
import { overStores } from './over-stores.ts'
import { add, both, desk, type List, open, shape } from './state-desk.ts'

vi.setConfig({ testTimeout: 30_000 })

overStores('the state of a conversation, for the application', (story) => {
  test('is set by the application while a turn runs, and the tool that ends then sees the newest', async () => {
    const begun = gate()
    const released = gate()
    const slow = defineTool({
      name: 'add',
      description: 'Add an item',
      input: z.object({ item: z.string() }),
      run: async ({ item }, turn: Turn<List>) => {
        turn.setState((state) => ({ items: [...state.items, item] }))
        begun.open()
        await released.opened
        return item
      },
    })
    const { chat, runtime } = open(story, desk([slow], [both[0]!]))
    const turn = await chat.send('go')
    await begun.opened
    const elsewhere = runtime.as(createScope({ user: 'bob' })).conversation('c1')
    expect(await elsewhere.setState((state) => ({ items: [...(state['items'] as string[]), 'milk'] }))).toEqual({
      items: ['milk'],
    })
    released.open()
    await turn.outcome()
    expect(await chat.state()).toEqual({ items: ['milk', 'tea'] })
    const sets = (await chat.events()).filter(({ type }) => type === 'state_set')
    expect(sets.map(({ content }) => (content as { who: string }).who)).toEqual(['bob', 'ann'])
  })

  test('keeps every one of many changes that come at once from the application', async () => {
    const { chat, runtime } = open(story, desk([add], []))
    await (await chat.send('go')).outcome()
    const names = Array.from({ length: 8 }, (_, n) => `i${n}`)
    await Promise.all(
      names.map((name) =>
        runtime.conversation('c1', { agent: 'desk' }).setState((state) => ({ items: [...state.items, name] })),
      ),
    )
    expect([...((await chat.state()) as List).items].sort()).toEqual(names)
  })

  test('is computed once for each of very many changes that come at once from one process', async () => {
    const { chat, runtime } = open(story, desk([add], []))
    await (await chat.send('go')).outcome()
    const names = Array.from({ length: 120 }, (_, n) => `i${n}`)
    let computed = 0
    const change = (name: string) => (state: AnyState) => {
      computed += 1
      return { items: [...(state as List).items, name] }
    }
    const changed = await Promise.all(
      names.map((name) => runtime.conversation('c1', { agent: 'desk' }).setState(change(name))),
    )
    expect(((await chat.state()) as List).items.toSorted()).toEqual(names.toSorted())
    expect(
      changed
        .map((state) => (state as List).items.length)
        .toSorted((a, b) => a - b)
        .at(-1),
    ).toBe(names.length)
    expect(computed).toBe(names.length)
  })

  test('does not wait for ever for a change before it that never ends', async () => {
    const hangs = ({ items }: List) => (items.includes('stuck') ? new Promise<boolean>(() => {}) : true)
    const { chat } = open(story, desk([add], [], { state: shape.refine(hangs) }))
    await (await chat.send('go')).outcome()
    void chat.setState({ items: ['stuck'] })
    expect(await chat.setState({ items: ['tea'] })).toEqual({ items: ['tea'] })
    expect(await chat.state()).toEqual({ items: ['tea'] })
  })

  test('is what the log says, whatever is done with the objects that were read', async () => {
    const { chat, runtime } = open(story, desk([add], []))
    const other = runtime.conversation('c2', { agent: 'desk' })
    for (const conversation of [chat, other]) await (await conversation.send('go')).outcome()
    // No turn has begun with this state.
    await chat.setState({ items: ['tea'] })
    const meddling = (state: AnyState) => {
      ;(state as { items: string[] }).items.push('half done')
      throw new Error('changed my mind')
    }
    await expect(chat.setState(meddling as never)).rejects.toMatchObject({ code: 'state_refused' })
    expect(await chat.state()).toEqual({ items: ['tea'] })
    for (const conversation of [chat, other]) ((await conversation.state()) as { items: string[] }).items.push('mine')
    expect([await chat.state(), await other.state()]).toEqual([{ items: ['tea'] }, { items: [] }])
  })

  test('is not computed for ever where another writer gets ahead of every change', async () => {
    let writes = 0
    const store = story.openStore()
    const isOfState = ({ events }: Change) => events.some(({ type }) => type === 'state_set')
    const another = () => {
      writes += 1
      return store.commit('c1', { events: [{ type: 'note', content: { name: 'n', data: writes, who: 'bob' } }] })
    }
    const runtime = story.start({ agents: [desk([add], []).agent], store: meddledStore(store, another, isOfState) })
    const chat = runtime.conversation('c1', { agent: 'desk' })
    await (await chat.send('go')).outcome()
    await expect(chat.setState({ items: ['tea'] })).rejects.toMatchObject({
      code: 'state_refused',
      message: expect.stringContaining('grew 100 times'),
    })
    expect(writes).toBe(100)
    expect(await chat.state()).toEqual({ items: [] })
    expect(await (await chat.send('go on')).outcome()).toMatchObject({ status: 'completed' })
  })

  test('is not computed for ever for a tool whose change another writer gets ahead of each time: the result is kept', async () => {
    let writes = 0
    const store = story.openStore()
    const isOfState = ({ events }: Change) => events.some(({ type }) => type === 'state_set')
    const another = () => {
      writes += 1
      return store.commit('c1', { events: [{ type: 'note', content: { name: 'n', data: writes, who: 'bob' } }] })
    }
    const { agent, model } = desk([add], [both[0]!])
    const runtime = story.start({ agents: [agent], store: meddledStore(store, another, isOfState) })
    const chat = runtime.conversation('c1', { agent: 'desk' })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(writes).toBe(100)
    expect(await chat.state()).toEqual({ items: [] })
    const types = (await chat.events()).map(({ type }) => type)
    expect(types.filter((type) => type === 'state_refused' || type === 'tool_result')).toEqual([
      'state_refused',
      'tool_result',
    ])
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain('grew 100 times')
  })

  test('may be set before the first message, where there is a conversation', async () => {
    const { chat, runtime, store } = open(story, desk([add], []))
    await expect(chat.state()).rejects.toMatchObject({ code: 'conversation_not_found' })
    await expect(chat.setState({ items: ['tea'] })).rejects.toMatchObject({ code: 'conversation_not_found' })
    await store.putConversation('c1', { agent: 'desk' })
    await (await runtime.conversation('c2', { agent: 'desk' }).send('go')).outcome()
    for (const conversation of [chat, await runtime.conversation('c2').fork({ at: 0 })]) {
      expect(await conversation.state()).toEqual({ items: [] })
      expect(await conversation.setState({ items: ['tea'] })).toEqual({ items: ['tea'] })
      expect(await (await conversation.send('go')).outcome()).toMatchObject({ status: 'completed' })
      expect(await conversation.state()).toEqual({ items: ['tea'] })
    }
  })

  test('is changed once by a key, however often it is sent', async () => {
    const { chat } = open(story, desk([add], []))
    await (await chat.send('go')).outcome()
    for (const _ of [1, 2, 3]) {
      const items = await chat.setState((state) => ({ items: [...state.items, 'tea'] }), { key: 'k1' })
      expect(items).toEqual({ items: ['tea'] })
    }
    expect((await chat.events()).filter(({ type }) => type === 'state_set')).toHaveLength(1)
  })

  test('is refused to the application with a reason, and nothing is written', async () => {
    const { chat, runtime } = open(story, desk([add], []))
    await expect(runtime.conversation('none', { agent: 'desk' }).setState({ items: [] })).rejects.toMatchObject({
      code: 'conversation_not_found',
    })
    await expect(runtime.conversation('none', { agent: 'desk' }).state()).rejects.toMatchObject({
      code: 'conversation_not_found',
    })
    await (await chat.send('go')).outcome()
    const before = (await chat.events()).length
    for (const [update, code] of [
      [{ items: 7 }, 'state_refused'],
      [{ plan: 'x'.repeat(70_000) }, 'state_refused'],
      [() => ({ items: [1] }), 'state_refused'],
      [() => 'text', 'state_refused'],
      ['text', 'invalid_argument'],
      [null, 'invalid_argument'],
      [[1], 'invalid_argument'],
      [new Map(), 'invalid_argument'],
      [{ items: [1n] }, 'invalid_argument'],
    ] as const) {
      await expect(chat.setState(update as never)).rejects.toMatchObject({ code })
    }
    await expect(chat.setState({}, { key: '' })).rejects.toMatchObject({ code: 'invalid_id' })
    expect(await chat.events()).toHaveLength(before)
    expect(await chat.state()).toEqual({ items: [] })
  })

  test('is in snapshots, and is restored from one', async () => {
    let kept: unknown = null
    const persistence = {
      persistState: (_: unknown, snapshot: unknown) => {
        kept = snapshot
      },
      loadState: () => kept as never,
    }
    const { agent } = desk([add], both)
    const first = story.start({ agents: [agent], persistence }).conversation('c1', { agent: 'desk' })
    await (await first.send('go')).outcome()
    expect(kept).toMatchObject({ data: { items: ['tea', 'milk'] } })
    const elsewhere = story
      .start({ agents: [desk([add], []).agent], persistence })
      .conversation('c1', { agent: 'desk' })
    await (await elsewhere.send('on')).outcome()
    expect(await elsewhere.state()).toEqual({ items: ['tea', 'milk'] })
    expect((await elsewhere.view()).state).toEqual({ items: ['tea', 'milk'] })
  })

  test('is as of that event in a fork, and goes on separately', async () => {
    const { chat } = open(story, desk([add], []))
    await (await chat.send('go')).outcome()
    await chat.setState({ items: ['a'] })
    const at = (await chat.view()).seq
    await chat.setState({ items: ['a', 'b'] })
    const fork = await chat.fork({ at })
    expect(await fork.state()).toEqual({ items: ['a'] })
    await fork.setState({ items: ['c'] })
    expect([await chat.state(), await fork.state()]).toEqual([{ items: ['a', 'b'] }, { items: ['c'] }])
  })

  test('is in the base of a summary, so that a reader from there has it', async () => {
    const { chat, runtime, store, data } = open(story, desk([add], both))
    await (await chat.send('go')).outcome()
    const { seq, log } = await chat.view()
    await store.putSummary('c1', { fromSeq: 1, toSeq: seq, version: 1, content: 'They shop.', base: baseOf(log) })
    await runtime.conversation('c1').detach()
    const again = story.start({ agents: [desk([add], both).agent], store: story.reopen(data) })
    const revived = again.conversation('c1', { agent: 'desk' })
    expect(await revived.state()).toEqual({ items: ['tea', 'milk'] })
    await revived.setState((state) => ({ items: [...state.items, 'jam'] }))
    expect(await revived.state()).toEqual({ items: ['tea', 'milk', 'jam'] })
  })

  test('that no longer matches after a deploy goes through migrateState, else the turn fails', async () => {
    const { chat, runtime, data } = open(story, desk([add], []))
    await (await chat.send('go')).outcome()
    await chat.setState({ items: ['tea'] })
    await runtime.close()
    const next = z.object({ list: z.array(z.object({ name: z.string() })) })
    const deployed = (migrate: object) => {
      const model = scriptedModel(() => 'Done.')
      const agent = defineAgent({
        name: 'desk',
        model,
        state: next,
        initialState: { list: [] },
        expose: ['list'],
        ...migrate,
      })
      return story.start({ agents: [agent], store: story.reopen(data) }).conversation('c1', { agent: 'desk' })
    }
    const stuck = deployed({})
    const failed = await (await stuck.send('on')).outcome()
    expect(failed).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^state_invalid: .*migrateState/) })
    await expect(stuck.state()).rejects.toMatchObject({ code: 'state_invalid' })
    await expect(stuck.setState({ list: [] })).rejects.toMatchObject({ code: 'state_invalid' })

    const migrateState = ({ items }: { items: string[] }) => ({ list: items.map((name) => ({ name })) })
    const moved = deployed({ migrateState })
    expect(await (await moved.send('on')).outcome()).toMatchObject({ status: 'completed' })
    expect(await moved.state()).toEqual({ list: [{ name: 'tea' }] })
    await moved.setState((state) => ({ list: [...state.list, { name: 'milk' }] }))
    expect((await moved.events()).at(-1)?.content).toMatchObject({
      patch: { set: { list: [{ name: 'tea' }, { name: 'milk' }] }, remove: ['items'] },
      exposed: ['list'],
    })
  })

  test('has only the exposed keys in views and live streams', async () => {
    const { chat } = open(story, desk([add], []))
    await (await chat.send('go')).outcome()
    await chat.setState({ items: ['tea'], plan: 'secret' })
    expect((await chat.view()).state).toEqual({ items: ['tea'] })
    for await (const event of chat.watch()) {
      if (event.type === 'snapshot') expect(event.view.state).toEqual({ items: ['tea'] })
      break
    }
  })
})
