import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createHandler } from '../../src/server/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from './start-server.ts'

const options = { output: false, untilTool: 'refund', maxSteps: 1, maxTokens: 1 }

test.each(Object.entries(options))('a server may forbid the options of a turn: %s', async (name, value) => {
  const { client, runtime } = await startServer({ serve: { turnOptions: false } })
  const chat = client.conversation('c', { agent: 'helper' })
  await expect(chat.send('Hi', { [name]: value })).rejects.toMatchObject({
    code: 'turn_options_not_allowed',
    status: 403,
    message: expect.stringContaining(`'${name}'`),
  })
  expect(await runtime.inspect('c').record()).toBeNull()
  const { turnId } = await chat.send('Hi', { key: 'one', whenBusy: 'queue' })
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed' })
})

test('a server that forbids nothing takes them, and they raise no limit of the agent', async () => {
  const model = scriptedModel(() => ({ calls: [{ tool: 'look', args: {} }] }))
  const agents = [defineAgent({ name: 'helper', model, maxSteps: 3, maxTokens: 1_000 })]
  const { client } = await startServer({ agents })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi', { maxSteps: 40, maxTokens: 1_000_000 })
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'halted', reason: 'max_steps' })
  expect(model.calls).toHaveLength(3)
  const [first] = await chat.events()
  expect(first?.content).toMatchObject({ options: { maxSteps: 3, maxTokens: 1_000 } })
})

test('whether options of a turn are taken is yes or no', async () => {
  const { runtime } = await startServer()
  const refused = () => createHandler(runtime, { authenticate: () => null, turnOptions: 'no' as never })
  expect(refused).toThrow("'turnOptions' must be true or false")
})

test('data of a message goes from the client to the tools, also where options of turns are forbidden', async () => {
  const seen: unknown[] = []
  const model = scriptedModel(() => 'Hello.')
  const instructions = ({ data }: { data: unknown }) => {
    seen.push(data)
    return 'Be brief.'
  }
  const agents = [defineAgent({ name: 'helper', model, instructions })]
  const { client } = await startServer({ agents, serve: { turnOptions: false } })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi', { data: { page: '/' } })
  await chat.outcome(turnId)
  expect(seen).toEqual([{ page: '/' }])
  await expect(chat.send('Hi', { data: 'x'.repeat(70_000) })).rejects.toMatchObject({
    code: 'invalid_argument',
    status: 400,
  })
})
