import { randomUUID } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startCuttingProxy } from './lost-acknowledgement/cutting-proxy.ts'

test('a message without a key whose acknowledgement is lost is in the log once, and is answered (postgres)', async () => {
  const proxy = await startCuttingProxy(inject('postgresUrl'))
  const schema = `lost_send_${randomUUID().replaceAll('-', '')}`
  const store = postgresStore({ connectionString: proxy.url, schema, logger: silentLogger })
  const agent = defineAgent({ name: 'echo', model: scriptedModel(() => 'Yes.') })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  const chat = runtime.conversation('c1', { agent: 'echo' })
  // The first begins the conversation; the second goes to one that rests as this process left it.
  const texts = ['@first@', '@second@']
  for (const text of texts) {
    const cut = proxy.cutAfter(text)
    const turn = await chat.send(text)
    cut.callOff()
    expect(await cut.wasCut).toBe(true)
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Yes.' })
  }
  const sent = (await chat.events()).filter((event) => event.type === 'user_msg')
  expect(sent.map(({ content }) => content.message.parts)).toEqual(texts.map((text) => [{ type: 'text', text }]))
  await runtime.close({ drainMs: 0 })
  await store.close()
  await proxy.close()
})
