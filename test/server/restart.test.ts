import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { serve } from '../../src/server/index.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { startServer } from './start-server.ts'

test('a watcher reconnects by itself after the server was closed and started again', async () => {
  const model = pacedModel()
  const { client, runtime, server } = await startServer({ model })
  const chat = client.conversation('c', { agent: 'helper' })
  await chat.send('Hi')
  const call = await model.called(1)
  call.say('Hel')
  let next: Awaited<ReturnType<typeof serve>> | null = null
  const types: string[] = []
  for await (const { event } of chat.watch({ backoff: { firstMs: 5, mostMs: 20 } })) {
    types.push(event.type)
    if (event.type === 'turn_ended') break
    if (next || types.length > 1) continue
    await server.close({ drainMs: 0 })
    next = await serve(runtime, { port: server.port, logger: silentLogger })
    call.answer('lo.')
  }
  await next?.close({ drainMs: 0 })
  expect(types[0]).toBe('snapshot')
  expect(types).toContain('assistant_msg')
})

test('an event about nothing does not stop a client from watching the log', async () => {
  const { client, store } = await startServer()
  await store.appendEvent('c', { type: 'titled', content: { title: 'T' } })
  await store.putConversation('c', { agent: 'helper' })
  await store.appendEvent('c', { type: 'tool_result', content: { callId: 'none', ok: true, result: null } })
  const watching = client.conversation('c').watch()
  expect((await watching.next()).value).toMatchObject({ event: { type: 'snapshot', view: { title: 'T' } } })
  await watching.return(undefined)
})
