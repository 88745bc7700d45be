import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { prometheus } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const operatorToken = 'a-token-of-operators'

function served() {
  const store = memoryStore()
  const metrics = prometheus()
  const agents = [defineAgent({ name: 'helper', model: scriptedModel(() => 'hi') })]
  const runtime = createRuntime({ agents, store, logger: silentLogger, observe: metrics })
  const authenticate = () => createScope({ tenant: 'default', user: 'ann' })
  const handler = createHandler(runtime, {
    authenticate,
    logger: silentLogger,
    upkeep: { store, operatorToken, metrics },
  })
  const ask = (path: string, headers: Record<string, string> = {}, body?: object) =>
    handler(
      new Request(`http://localhost${path}`, {
        headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      }),
    )
  return { runtime, metrics, ask }
}

test.each([
  ['is recorded with the message', traceparent, traceparent],
  ['counts as absent when it is none', '<script>', undefined],
])('the header traceparent %s', async (_, header, recorded) => {
  const { runtime, ask } = served()
  const sent = await ask('/conversations/c1/messages', { traceparent: header }, { message: 'hi', agent: 'helper' })
  expect(sent.status).toBe(202)
  const [event] = await runtime.conversation('c1').events()
  expect((event!.content as { traceparent?: string }).traceparent).toBe(recorded)
  await runtime.close()
})

test('pages do not see the trace of a message', async () => {
  const { runtime, ask } = served()
  await ask('/conversations/c1/messages', { traceparent }, { message: 'hi', agent: 'helper' })
  const shown = await (await ask('/conversations/c1/events')).text()
  expect(shown).toContain('user_msg')
  expect(shown).not.toContain('0af7651916cd43dd8448eb211c80319c')
  await runtime.close()
})

test('metrics are text for operators, with the counts of the process, and for no one else', async () => {
  const { runtime, metrics, ask } = served()
  await (await runtime.conversation('c1', { agent: 'helper' }).send('hi')).outcome()
  await metrics.flush()
  expect((await ask('/metrics')).status).toBeGreaterThanOrEqual(401)
  const answer = await ask('/metrics', { authorization: `Bearer ${operatorToken}` })
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const text = await answer.text()
  expect(text).toContain('perdure_recent_turns{status="completed"} 1\n')
  expect(text).toContain('perdure_turns_total{gen_ai_agent_name="helper",perdure_status="completed"} 1\n')
  await runtime.close()
})
