import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startSlowProxy } from '../support/slow-proxy.ts'

const conversations = 256
const roundTripMs = 50
const leaseMs = 3_000
const toolMs = 3 * leaseMs

test('a node that holds 256 conversations on a database 50 ms away loses none of them (postgres)', {
  timeout: 120_000,
}, async () => {
  const proxy = await startSlowProxy(inject('postgresUrl'), roundTripMs)
  const schema = `slow_${randomUUID().replaceAll('-', '')}`
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const runs: string[] = []
  const work = defineTool({
    name: 'work',
    description: 'Works for a while',
    input: z.object({}),
    run: async (_, { callId }) => {
      runs.push(callId!)
      await sleep(toolMs)
      return 'done'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'work', args: {} }] },
  )
  const agents = [defineAgent({ name: 'worker', model, tools: [work] })]
  const open = () => postgresStore({ connectionString: proxy.url, schema, logger: silentLogger })
  const stores = [open(), open()]
  const busy = createRuntime({ agents, store: stores[0]!, logger, leaseMs })
  const turns = await Promise.all(
    Array.from({ length: conversations }, (_, n) => busy.conversation(`c${n}`, { agent: 'worker' }).send('go')),
  )
  // It has nothing to do but to take over what another has lost.
  const idle = createRuntime({ agents, store: stores[1]!, logger, leaseMs, pollMs: 100 })
  const outcomes = await Promise.all(turns.map((turn) => turn.outcome()))
  const endings = new Map<string, number>()
  for (const { status } of outcomes) endings.set(status, (endings.get(status) ?? 0) + 1)
  const unknown = await stores[1]!
    .forTenant('default')
    .listConversations({ limit: 1_000 })
    .then(async (listed) => {
      const logs = await Promise.all(listed.map(({ id }) => stores[1]!.streamEvents(id)))
      return logs.flat().filter((event) => event.type === 'tool_result' && event.content.outcome === 'unknown').length
    })
  expect({ endings: Object.fromEntries(endings), unknown, runs: runs.length, warnings }).toEqual({
    endings: { completed: conversations },
    unknown: 0,
    runs: conversations,
    warnings: [],
  })
  for (const runtime of [busy, idle]) await runtime.close({ drainMs: 0 })
  for (const store of stores) await store.close()
  await proxy.close()
})
