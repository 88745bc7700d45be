import { fork } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { Command, interrupt, MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { PerdureSaver } from 'perdure/langgraph'
import { expect, test } from 'vitest'
import { stores } from './stores.js'

const config = { configurable: { thread_id: 'ticket-42' } }

/** Asks a person, then answers. */
function askingGraph(checkpointer) {
  return new StateGraph(MessagesAnnotation)
    .addNode('ask', () => ({ messages: [new AIMessage(`You said ${interrupt('Go on?')}.`)] }))
    .addEdge('__start__', 'ask')
    .compile({ checkpointer })
}

/** Adds one answer to each message. */
function echoGraph(checkpointer) {
  return new StateGraph(MessagesAnnotation)
    .addNode('echo', ({ messages }) => ({ messages: [new AIMessage(`${messages.at(-1).content}, yes`)] }))
    .addEdge('__start__', 'echo')
    .compile({ checkpointer })
}

for (const [name, open] of Object.entries(stores)) {
  test(`an interrupted graph is resumed by another process's store (${name})`, async () => {
    const { store, reopen } = open()
    const asked = await askingGraph(new PerdureSaver({ store })).invoke({ messages: [new HumanMessage('Hi')] }, config)
    expect(asked.__interrupt__).toMatchObject([{ value: 'Go on?' }])
    if (name !== 'memory') await store.close()
    const again = reopen()
    const graph = askingGraph(new PerdureSaver({ store: again }))
    const { messages } = await graph.invoke(new Command({ resume: 'yes' }), config)
    expect(messages.map(({ content }) => content)).toEqual(['Hi', 'You said yes.'])
    expect((await graph.getState(config)).next).toEqual([])
    await again.close()
  })

  test(`a graph goes back to an earlier checkpoint and goes on from there, and both branches stay (${name})`, async () => {
    const { store } = open()
    const graph = echoGraph(new PerdureSaver({ store }))
    await graph.invoke({ messages: [new HumanMessage('one')] }, config)
    const first = (await graph.getState(config)).config
    await graph.invoke({ messages: [new HumanMessage('two')] }, config)
    const branch = await graph.invoke({ messages: [new HumanMessage('three')] }, first)
    expect(branch.messages.map(({ content }) => content)).toEqual(['one', 'one, yes', 'three', 'three, yes'])
    const states = []
    for await (const state of graph.getStateHistory(config))
      states.push(state.values.messages?.map(({ content }) => content))
    expect(states).toContainEqual(['one', 'one, yes', 'two', 'two, yes'])
    expect(states[0]).toEqual(['one', 'one, yes', 'three', 'three, yes'])
    await store.close()
  })

  test(`a long thread reads the same by a saver that remembers and by one that does not (${name})`, async () => {
    const { store } = open()
    const graph = echoGraph(new PerdureSaver({ store }))
    for (let turn = 0; turn < 60; turn++) {
      await graph.invoke(
        { messages: [new HumanMessage({ id: `m${turn}`, content: `${turn} ${'äöü€😀'.repeat(turn)}` })] },
        config,
      )
    }
    const known = (await graph.getState(config)).values.messages.map(({ content }) => content)
    const cold = (await echoGraph(new PerdureSaver({ store })).getState(config)).values.messages.map(
      ({ content }) => content,
    )
    expect(cold).toEqual(known)
    expect(cold).toHaveLength(120)
    await store.close()
  })
}

test('a file grows in proportion to the messages, not to their square', async () => {
  const { store, path } = stores.sqlite()
  const graph = echoGraph(new PerdureSaver({ store }))
  const sizes = []
  for (let turn = 1; turn <= 400; turn++) {
    await graph.invoke({ messages: [new HumanMessage('What is the state of my order?')] }, config)
    if (turn % 200 === 0) sizes.push(await bytesOf(store, path))
  }
  await store.close()
  console.log(`bytes after 200 and 400 turns: ${sizes.join(', ')}`)
  expect(sizes[1] / sizes[0]).toBeLessThan(2.6)
}, 120_000)

async function bytesOf(store, path) {
  await store.getConversation('none')
  return ['', '-wal'].reduce((sum, ending) => sum + statSync(path + ending, { throwIfNoEntry: false })?.size || sum, 0)
}

for (const kind of ['sqlite', 'postgres']) {
  test(`a process that is killed between put and putWrites loses nothing, and nothing counts twice (${kind})`, async () => {
    const { store, path, options } = stores[kind]()
    await store.getConversation('none')
    await store.close()
    const where = JSON.stringify(kind === 'sqlite' ? { path } : options)
    for (const last of ['put', 'writes', 'again']) {
      const child = fork('./kill-child.js', [kind, where, last])
      const [acknowledged] = await once(child, 'message')
      child.kill('SIGKILL')
      await once(child, 'exit')
      const reopened =
        kind === 'sqlite'
          ? (await import('perdure/sqlite')).sqliteStore({ path })
          : (await import('perdure/postgres')).postgresStore(options)
      const saver = new PerdureSaver({ store: reopened })
      const thread = { configurable: { thread_id: last, checkpoint_ns: '' } }
      const tuple = await saver.getTuple(thread)
      expect(tuple.checkpoint.id).toBe(acknowledged.checkpoint)
      expect(tuple.checkpoint.channel_values).toEqual({ list: ['a', 'b'] })
      expect(tuple.pendingWrites).toEqual(last === 'put' ? [] : [['task', 'list', 'c']])
      const listed = []
      for await (const one of saver.list({ configurable: { thread_id: last } })) listed.push(one.checkpoint.id)
      expect(new Set(listed).size).toBe(listed.length)
      await reopened.close()
    }
  })
}
