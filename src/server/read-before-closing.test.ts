import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { readBeforeClosing } from './serve.ts'

const keepAlive = { keepAliveTimeout: 50, keepAliveTimeoutBuffer: 0 }
const server = createServer(keepAlive, (_, response) => {
  setTimeout(() => response.end('hello'), 20)
})
readBeforeClosing(server)

afterEach(() => server.close())

const request = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'

async function connected(): Promise<Socket> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  return connect((server.address() as AddressInfo).port, '127.0.0.1')
}

test('a request that came in time is answered, though the process was too busy to see it', async () => {
  const socket = await connected()
  socket.write(request)
  await once(socket, 'data')
  socket.write(request)
  for (const until = performance.now() + 500; performance.now() < until; );
  const heard = await Promise.race([once(socket, 'data'), once(socket, 'close')])
  expect(String(heard[0])).toContain('hello')
  socket.destroy()
})

test('a connection without a request is closed', async () => {
  const socket = await connected()
  socket.write(request)
  await once(socket, 'data')
  await once(socket, 'end')
})
