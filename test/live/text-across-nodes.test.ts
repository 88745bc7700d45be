import { afterEach, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { serve } from '../../src/server/index.ts'
import { createStore } from '../../src/store/create-store.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { createChat, endedMessagesOf, lastMessage, textOf } from '../server/ui-chat.ts'
import { PostgresSchema } from '../setup/postgres-schema.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { type Nodes, resumedElsewhere } from './text-across-nodes.ts'
import { writer } from './writer.ts'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function startNode(schema: PostgresSchema, agent: Agent, work = true): Promise<string> {
  const store = createStore(schema.open(), { logger: silentLogger })
  const runtime = createRuntime({ agents: [agent], store, work, logger: silentLogger })
  const server = await serve(runtime, { port: 0, logger: silentLogger })
  closing.push(
    () => store.close(),
    () => runtime.close({ drainMs: 0 }),
    () => server.close({ drainMs: 0 }),
  )
  return server.url
}

test('a reader who goes to another node in mid-message, again and again, never sees text vanish or come twice (postgres)', async () => {
  const schema = PostgresSchema.take()
  closing.push(() => schema.giveBack())
  const nodes: Nodes = [await startNode(schema, writer('a', 5)), await startNode(schema, writer('b', 5))]
  const random = seededRandom(19)
  const resumes = await Promise.all(Array.from({ length: 6 }, () => resumedElsewhere(nodes, random)))
  expect(resumes.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(6)
})

test.each(['v6', 'v7'] as const)(
  'a page of ai %s that resumes at another node gets the text so far, and the rest as it is written (postgres)',
  async (sdk) => {
    const schema = PostgresSchema.take()
    closing.push(() => schema.giveBack())
    const model = pacedModel()
    const agent = defineAgent({ name: 'helper', model })
    const here = `${await startNode(schema, agent)}/ui/helper`
    const elsewhere = `${await startNode(schema, agent, false)}/ui/helper`
    const before = createChat(sdk, { api: here })
    const sent = before.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => before.messages.length === 2 && textOf(lastMessage(before)) === 'Once ')
    await before.stop()
    await sent
    const after = createChat(sdk, { api: elsewhere, messages: await endedMessagesOf(elsewhere) })
    const resumed = after.resumeStream()
    await until(() => textOf(lastMessage(after)) === 'Once ')
    call.say('upon ')
    await until(() => textOf(lastMessage(after)) === 'Once upon ')
    call.answer('a time.')
    await resumed
    expect(textOf(lastMessage(after))).toBe('Once upon a time.')
  },
)
