import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { openRemoteUpkeep } from './remote-upkeep.ts'

let other: Server

afterEach(() => {
  other.close()
})

test.each([
  ['pages', 'something else answered with 200', () => pages('text/html', '<!doctype html>\n<p>Hello</p>\n')],
  ['JSON of its own', 'something else answered with 200', () => pages('application/problem+json', 'null\n')],
  [
    'no HTTP',
    'it speaks another protocol',
    () => createServer((socket) => void socket.end('220 mail.example.com\r\n')),
  ],
])('a server that answers with %s is no server to look after', async (_, problem, start) => {
  other = start().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const target = await openRemoteUpkeep(`http://127.0.0.1:${(other.address() as AddressInfo).port}`)
  const written: unknown[] = []
  const asked: Record<string, () => Promise<unknown>> = {
    export: () => target.exportTo(async (piece) => void written.push(piece), {}),
    import: () => target.importFrom(lines(), {}),
    examine: () => target.examine({}),
    compare: () => target.compareWith(lines(), () => {}, {}),
    check: () => target.migrate({ check: true }),
    migrate: () => target.migrate({ check: false }),
    garbage: () => target.collectGarbage({}),
    unquarantine: () => target.unquarantine({ tenant: 'default', id: 'c1' }),
    subscribers: () => target.outbox.subscribers(),
    failed: () => target.outbox.failed(),
    retry: () => target.outbox.endFailed([1], 'retry'),
    remove: () => target.outbox.removeSubscriber('x'),
  }
  for (const [name, ask] of Object.entries(asked)) {
    const told = await ask().catch((error: Error) => error.message)
    expect([name, told]).toEqual([name, expect.stringContaining(`The server could not be reached: ${problem}`)])
  }
  expect(written).toEqual([])
})

test('a connection asks by itself whether the other side is still there', async () => {
  const asked = vi.spyOn(Socket.prototype, 'setKeepAlive')
  other = pages('text/html', '').listen(0, '127.0.0.1')
  await once(other, 'listening')
  const target = await openRemoteUpkeep(`http://127.0.0.1:${(other.address() as AddressInfo).port}`)
  await expect(target.examine({})).rejects.toThrow()
  expect(asked).toHaveBeenCalledWith(true, 15_000)
  asked.mockRestore()
})

function pages(type: string, text: string): Server {
  return createHttpServer((request, answer) => {
    request.resume()
    answer.writeHead(200, { 'content-type': type }).end(text)
  })
}

async function* lines(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{}\n')
}
