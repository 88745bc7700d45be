import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type Started, startServer } from './start-server.ts'

const worked = vi.hoisted(() => ({ out: 0 }))

/** Counts how often a view is worked out, which costs as much as it shows. */
vi.mock('../../src/view/view-of.ts', async (original) => {
  const actual = await original<typeof import('../../src/view/view-of.ts')>()
  const viewOf: typeof actual.viewOf = (...given) => {
    worked.out += 1
    return actual.viewOf(...given)
  }
  return { ...actual, viewOf }
})

const calls = 300
/** Each call has three events and more, and each way to watch had a view of every one of them. */
const most = 30

beforeEach(() => {
  worked.out = 0
})

async function start(begun: Promise<unknown> = Promise.resolve()): Promise<Started> {
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }) => `paid ${cents}`,
  })
  const made = Array.from({ length: calls }, (_, cents) => ({ tool: 'pay', args: { cents } }))
  const model = scriptedModel(async () => {
    await begun
    return { calls: made }
  })
  const agent = defineAgent({ name: 'payer', model, tools: [pay] })
  return startServer({ agents: [agent as unknown as Agent] })
}

test('a client that shows a message with very many calls works its view out a few times, and shows all of them', async () => {
  const { client } = await start()
  const chat = client.conversation('many', { agent: 'payer' })
  await chat.send('pay')
  let waiting = 0
  for await (const view of chat.views()) {
    waiting = view.pending.length
    if (view.phase === 'waiting') break
  }
  expect(waiting).toBe(calls)
  expect(worked.out).toBeLessThan(most)
})

test('a stream of events of very many calls has each of them once, in order, for a few views', async () => {
  const { client } = await start()
  const chat = client.conversation('many', { agent: 'payer' })
  await chat.send('pay')
  const seqs: number[] = []
  for await (const { event } of chat.watch({ after: 0 })) {
    if ('content' in event) seqs.push(event.seq)
    if (seqs.length === 2 + 2 * calls) break
  }
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(worked.out).toBeLessThan(most)
})

test('who waits for the outcome of a turn with very many calls costs a few views', async () => {
  const begun = Promise.withResolvers<void>()
  const { client } = await start(begun.promise)
  const chat = client.conversation('many', { agent: 'payer' })
  const { turnId } = await chat.send('pay')
  const outcome = chat.outcome(turnId)
  // By then the server waits for the turn.
  await sleep(300)
  begun.resolve()
  expect(await outcome).toMatchObject({ status: 'waiting' })
  expect(worked.out).toBeLessThan(most)
})

test('the text of a turn with very many calls costs a few views', async () => {
  const { runtime } = await start()
  const turn = await runtime.conversation('many', { agent: 'payer' }).send('pay')
  for await (const _ of turn.textStream);
  expect(worked.out).toBeLessThan(most)
})

test('a page that shows very many calls costs a few views, and is told of all of them', async () => {
  const { server } = await start()
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay' }] }
  const body = JSON.stringify({ id: 'many', trigger: 'submit-message', messages: [message] })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${server.url}/ui/payer`, { method: 'POST', headers, body })
  const text = await response.text()
  expect(text.match(/"type":"tool-approval-request"/g)).toHaveLength(calls)
  expect(worked.out).toBeLessThan(most)
})
