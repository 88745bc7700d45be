import { APICallError } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import type { LogDetails, Logger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { everyProperty, model as modelOf, ok, streamOf } from '../support/unruly-model.ts'
import { overStores } from './over-stores.ts'

const secret = 'sk-proj-Zx81hQpL0aVbN3mTt7Rw'
const password = 'hunter2hunter2hunter2'

/** As the provider packages throw it: with all that was sent. */
function refusal(): APICallError {
  return new APICallError({
    message: `Incorrect API key provided: ${secret}. Sent with Authorization: Bearer ${password}`,
    url: `https://api.example.test/v1?api_key=${secret}`,
    requestBodyValues: { apiKey: secret },
    statusCode: 401,
    responseHeaders: { 'x-request-key': secret, 'set-cookie': `session=${password}` },
    responseBody: JSON.stringify({ error: `bad key ${secret}` }),
    cause: Object.assign(new Error(`header x-api-key: ${secret}`), {
      config: { headers: { authorization: password } },
    }),
  })
}

overStores('the keys and headers of a model', (story) => {
  test('reach neither the store, nor the logs, nor the outcome, whatever way the provider fails', async () => {
    const logged: unknown[] = []
    const log = (text: string, details?: LogDetails) => void logged.push(text, details)
    const logger: Logger = { debug: log, info: log, warn: log, error: log }
    const failures = [
      () => Promise.reject(refusal()),
      () => {
        throw refusal()
      },
      () => streamOf([{ type: 'error', error: refusal() }]),
      () => streamOf([{ type: 'text-delta', id: 't', delta: 'Once ' }], refusal()),
      () =>
        streamOf([
          { type: 'text-delta', id: 't', delta: 'Once ' },
          { type: 'error', error: refusal() },
        ]),
    ]
    const model = modelOf([...failures, ok], {
      headers: { authorization: `Bearer ${secret}` },
      config: { apiKey: secret },
    })
    const titles = modelOf([() => Promise.reject(refusal())], { apiKey: secret })
    const agent = defineAgent({ name: 'a', model, audit: 'full', retry: false, title: { model: titles } })
    const runtime = story.start({ agents: [agent], logger })
    const chat = runtime.conversation('c1', { agent: 'a' })
    const outcomes: unknown[] = []
    for (const [n] of failures.entries()) {
      const outcome = await (await chat.send(`message ${n}`)).outcome()
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('acme/m1') })
      outcomes.push(outcome)
    }
    // The first that goes well; then a title is requested, and fails too.
    expect(await (await chat.send('at last')).outcome()).toMatchObject({ status: 'completed' })
    await runtime.close()
    expect(titles.asked).toHaveLength(1)
    const { store } = runtime
    const stored = [
      await store.streamEvents('c1'),
      await store.modelCalls('c1'),
      await store.getConversation('c1'),
      await store.listConversations(),
    ]
    // Each of them, the one that went well, and the title.
    expect(await store.modelCalls('c1')).toHaveLength(failures.length + 2)
    const everything = everyProperty([stored, logged, outcomes])
    expect(everything).toContain('[redacted]')
    expect(everything).not.toContain(secret)
    expect(everything).not.toContain(password)
  })

  test('are not in the audit of a call that went well either', async () => {
    const model = Object.assign(scriptedModel('fine'), { config: { headers: () => ({ authorization: secret }) } })
    const agent = defineAgent({ name: 'a', model, audit: 'full' })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'a' })
    await (await chat.send('hi')).outcome()
    const rows = await runtime.store.modelCalls('c1')
    expect(rows).toMatchObject([{ status: 'ok', model: { modelId: 'scripted-model' } }])
    expect(everyProperty([rows, await chat.events()])).not.toContain(secret)
  })
})
