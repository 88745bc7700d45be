import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openRemoteTarget } from './remote-target.ts'

let server: Server
let url: string
let folder: string
let seen: (string | undefined)[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-token-'))
  server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.setHeader('content-type', 'application/json').end('{"conversations":[],"before":null}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

beforeEach(() => {
  seen = []
  vi.unstubAllEnvs()
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

function tokenFileFor(address: string): string {
  const file = join(folder, 'server.json')
  writeFileSync(file, JSON.stringify({ url: address, token: 'secret' }))
  return file
}

test('the token of a file goes to the server that wrote it', async () => {
  await (await openRemoteTarget(`${url}/`, tokenFileFor(url))).conversations()
  expect(seen).toEqual(['Bearer secret'])
})

test('and to no other', async () => {
  await (await openRemoteTarget(url, tokenFileFor('http://127.0.0.1:1'))).conversations()
  expect(seen).toEqual([undefined])
})

test('that of the environment comes first', async () => {
  vi.stubEnv('PERDURE_TOKEN', 'mine')
  await (await openRemoteTarget(url, tokenFileFor(url))).conversations()
  expect(seen).toEqual(['Bearer mine'])
})

test('a token file that was named and cannot be read is told', async () => {
  await expect(openRemoteTarget(url, join(folder, 'nothing.json'))).rejects.toThrow('--token-file cannot be read')
})
