import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { Logger } from '../../src/base/logger.ts'
import { until } from '../stories/until.ts'
import { startServer } from './start-server.ts'

test.each(['', 'Connection: close\r\n'])(
  'a response that is sent before the end of a body reaches a client that is still sending (%j)',
  async (connection) => {
    const { server } = await startServer({ serve: { authenticate: () => null } })
    const socket = connect(server.port, '127.0.0.1').pause()
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('error', () => {})
    socket.write(
      `POST /conversations/c/messages HTTP/1.1\r\nHost: localhost\r\n${connection}Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n`,
    )
    socket.write('x'.repeat(10_000_000))
    // Long enough for a server that cuts it off at once to have done so.
    await new Promise((resolve) => setTimeout(resolve, 300))
    socket.resume()
    await once(socket, 'close')
    expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*"unauthenticated"/)
  },
)

test('a client that goes in the middle of a body is no failure of the server', async () => {
  const { logged, logger } = collected()
  const { server } = await startServer({ serve: (store) => ({ logger, upkeep: { store, isOperator: () => true } }) })
  for (const [path, type] of [
    ['/conversations/c/messages', 'application/json'],
    ['/store/import', 'application/x-ndjson'],
  ]) {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n\r\n{"mess`,
    )
    await once(socket, 'connect')
    // It has been read as far as it came.
    await fetch(`${server.url}/health`)
    socket.resetAndDestroy()
  }
  await server.close({ drainMs: 60_000 })
  expect(logged).toEqual([])
})

test('a server that is closed sends clients that watch away, and calls none of them a failure', async () => {
  const { logged, logger } = collected()
  const { server, client } = await startServer({ serve: { logger } })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi')
  await chat.outcome(turnId)
  const leave = new AbortController()
  const watching = [1, 2, 3].map(async () => {
    // Comes back again and again, on the connections it has.
    for await (const _ of chat.watch({ signal: leave.signal }));
  })
  await until(() => server.streams().clients === 3)
  await server.close({ drainMs: 60_000 })
  leave.abort()
  await Promise.allSettled(watching)
  expect(logged).toEqual([])
})

function collected(): { readonly logged: string[]; readonly logger: Logger } {
  const logged: string[] = []
  const log = (text: string, details?: object) => void logged.push(`${text} ${JSON.stringify(details)}`)
  return { logged, logger: { debug: () => {}, info: log, warn: log, error: log } }
}
