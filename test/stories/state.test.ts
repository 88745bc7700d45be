import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { dyingBefore } from './dying-before.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { add, both, desk, type List, open, shape } from './state-desk.ts'
import { shapeOf } from './texts.ts'

vi.setConfig({ testTimeout: 30_000 })

overStores('the state of a conversation', (story) => {
  test('is set by a tool in the same commit as its result, and then read by tools, the application and views', async () => {
    const made = desk([add], [both[0]!])
    const { chat, commits } = open(story, made)
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    const log = await chat.events()
    expect(shapeOf(log).slice(3, 6)).toEqual(['tool_started', 'state_set', 'tool_result'])
    const set = log[4]!
    expect(set.content).toEqual({
      callId: expect.any(String),
      patch: { set: { items: ['tea'] }, remove: [] },
      exposed: ['items'],
      who: 'ann',
    })
    const together = commits.find(({ events }) => events.some(({ type }) => type === 'state_set'))
    expect(together?.events.map(({ type }) => type)).toEqual(['state_set', 'tool_result'])
    expect(await chat.state()).toEqual({ items: ['tea'] })
    expect((await chat.view()).state).toEqual({ items: ['tea'] })
    checkHistory(log)
  })

  test('keeps what two tools add at once, though both began with the same state', async () => {
    const barrier = gate()
    let waiting = 0
    const slow = defineTool({
      name: 'add',
      description: 'Add an item',
      input: z.object({ item: z.string() }),
      run: async ({ item }, turn: Turn<List>) => {
        expect(turn.state.items).toEqual([])
        turn.setState((state) => ({ items: [...state.items, item] }))
        if (++waiting === 2) barrier.open()
        await barrier.opened
        return item
      },
    })
    const { chat } = open(story, desk([slow], both))
    await (await chat.send('go')).outcome()
    expect([...((await chat.state()) as List).items].sort()).toEqual(['milk', 'tea'])
    checkHistory(await chat.events())
  })

  test('has plain changes merged by top-level keys, the later result winning, and undefined removing', async () => {
    const set = (name: string, change: object) =>
      defineTool({
        name,
        description: name,
        input: z.object({}),
        run: (_, turn) => {
          turn.setState(change as { plan?: string })
          return name
        },
      })
    const tools = [set('first', { plan: 'one', items: ['a'] }), set('second', { plan: undefined })]
    const model = scriptedModel(
      ['', '', ''].map((_, n) => (n < 2 ? { calls: [{ tool: tools[n]!.name, args: {} }] } : 'Done.')),
    )
    const { chat } = open(story, { agent: defineAgent({ name: 'desk', model, tools, state: shape }) as never })
    await (await chat.send('go')).outcome()
    expect(await chat.state()).toEqual({ items: ['a'] })
    expect((await chat.events()).filter(({ type }) => type === 'state_set').at(-1)?.content).toMatchObject({
      patch: { set: {}, remove: ['plan'] },
    })
  })

  test('stays as it is when the tool fails', async () => {
    const failing = defineTool({
      name: 'add',
      description: 'Add an item',
      input: z.object({ item: z.string() }),
      run: (_, turn: Turn<List>) => {
        turn.setState({ items: ['never'] })
        throw new Error('broke')
      },
    })
    const { chat } = open(story, desk([failing], [both[0]!]))
    await (await chat.send('go')).outcome()
    expect(await chat.state()).toEqual({ items: [] })
    expect(shapeOf(await chat.events())).not.toContain('state_set')
  })

  test.each<[string, unknown, RegExp]>([
    ['does not match the schema', { items: 'tea' }, /The state was not changed: .*items/],
    [
      'is too large',
      { plan: 'x'.repeat(64 * 1024) },
      /The state was not changed: it would have \d+ bytes; the limit is 65536/,
    ],
    [
      'is made by a function that throws',
      () => {
        throw new Error('no list')
      },
      /threw .*no list/,
    ],
    ['is made by a function that is asynchronous', async () => ({}), /must be synchronous/],
  ])('is left, the result is kept and the model is told when the change %s', async (_, change, told) => {
    const wrong = defineTool({
      name: 'wrong',
      description: 'Set it wrong',
      input: z.object({}),
      run: (_args, turn) => {
        turn.setState(change as object)
        return 'done'
      },
    })
    const made = desk([wrong], [{ tool: 'wrong', args: {} }])
    const { chat } = open(story, made)
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
    expect(await chat.state()).toEqual({ items: [] })
    const log = await chat.events()
    expect(shapeOf(log).slice(3, 6)).toEqual(['tool_started', 'state_refused', 'tool_result'])
    expect(log[5]!.content).toMatchObject({ ok: true, result: 'done' })
    expect(made.model.calls[1]!.prompt.at(-1)?.content).toMatchObject([
      { output: { value: { note: expect.stringMatching(told), result: 'done' } } },
    ])
  })

  test('is read by instructions and hooks, and only tools may set it', async () => {
    const problems: unknown[] = []
    const read: unknown[] = []
    const hook = {
      name: 'look',
      phase: 'pre' as const,
      run: (turn: Turn) => {
        read.push(turn.state['items'])
        try {
          turn.setState({ items: ['hooked'] })
        } catch (error) {
          problems.push(error)
        }
      },
    }
    const instructions = (turn: Turn<List>) => `There are ${turn.state.items.length} items.`
    const made = desk([add], [both[0]!], { instructions, hooks: [hook] })
    const { chat } = open(story, made)
    await (await chat.send('go')).outcome()
    expect(made.model.calls.map(({ prompt }) => prompt[0]!.content)).toEqual([
      'There are 0 items.',
      'There are 1 items.',
    ])
    expect(read).toEqual([[], ['tea']])
    expect(problems).toMatchObject([{ code: 'state_refused' }, { code: 'state_refused' }])
  })

  test('cannot be set after the tool has ended, nor for an agent without state', async () => {
    let late: Turn<List> | null = null
    const tool = defineTool({
      name: 'add',
      description: 'Add an item',
      input: z.object({ item: z.string() }),
      run: (_, turn: Turn<List>) => {
        late = turn
        return 'done'
      },
    })
    const { chat } = open(story, desk([tool], [both[0]!]))
    await (await chat.send('go')).outcome()
    expect(() => late!.setState({ items: ['late'] })).toThrow('the tool has ended')
    expect(await chat.state()).toEqual({ items: [] })

    const model = scriptedModel([{ calls: [both[0]!] }, 'Done.'])
    const without = story.start({ agents: [defineAgent({ name: 'plain', model, tools: [add] })] })
    const plain = without.conversation('c2', { agent: 'plain' })
    await (await plain.send('go')).outcome()
    expect(JSON.stringify(await plain.events())).toContain("the agent 'plain' has no 'state'")
    expect(await plain.state()).toEqual({})
    await expect(plain.setState({ items: [] })).rejects.toMatchObject({ code: 'state_refused' })
  })

  test('is set by the process that goes on, when one died between the tool and its commit', async () => {
    const rerun = defineTool({
      name: 'add',
      description: 'Add an item',
      input: z.object({ item: z.string() }),
      ifInterrupted: 'rerun',
      run: ({ item }, turn: Turn<List>) => {
        turn.setState((state) => ({ items: [...state.items, item] }))
        return item
      },
    })
    const { agent } = desk([rerun], [both[0]!])
    const store = story.openStore()
    const died = gate()
    const dying = dyingBefore(
      store,
      ({ events }) => events.some(({ type }) => type === 'tool_result'),
      () => {
        died.open()
        return new Promise(() => {})
      },
    )
    const first = story.start({ agents: [agent], store: dying, leaseMs: 500 })
    await first.conversation('c1', { agent: 'desk' }).send('go')
    await died.opened
    await first.close({ drainMs: 0 })
    expect(JSON.stringify(await store.streamEvents('c1'))).not.toContain('state_set')
    const second = story.start({ agents: [agent], store: story.reopen(store), leaseMs: 500 })
    const chat = second.conversation('c1', { agent: 'desk' })
    expect(await chat.outcome()).toMatchObject({ status: 'completed' })
    expect(await chat.state()).toEqual({ items: ['tea'] })
    checkHistory(await chat.events())
  })
})
