import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openServerTarget } from './open-target.ts'

let server: Server
let url: string
let folder: string
let seen: (string | undefined)[]
let seenOfOperators: (string | string[] | undefined)[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-token-'))
  server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    seenOfOperators.push(request.headers['perdure-operator'])
    response.setHeader('content-type', 'application/json').end('{"conversations":[],"before":null}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

beforeEach(() => {
  seen = []
  seenOfOperators = []
  vi.unstubAllEnvs()
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

function tokenFileFor(address: string): string {
  const file = join(folder, 'server.json')
  writeFileSync(file, JSON.stringify({ url: address, token: 'secret', operatorToken: 'secret-of-operators' }))
  return file
}

test('the token of a file goes to the server that wrote it', async () => {
  await (await openServerTarget(`${url}/`, tokenFileFor(url))).conversations()
  expect(seen).toEqual(['Bearer secret'])
})

test('and to no other, also not to the same one by another name', async () => {
  const other = url.replace('127.0.0.1', 'localhost')
  const opening = openServerTarget(other, tokenFileFor(url))
  await expect(opening).rejects.toThrow(
    `--token-file belongs to the server at ${url}; pass exactly that address as --url`,
  )
  const here = vi.spyOn(process, 'cwd').mockReturnValue(folder)
  mkdirSync(join(folder, '.perdure'), { recursive: true })
  renameSync(tokenFileFor('http://127.0.0.1:1'), join(folder, '.perdure', 'server.json'))
  await (await openServerTarget(url)).conversations()
  here.mockRestore()
  expect(seen).toEqual([undefined])
})

test('that of the environment comes first', async () => {
  vi.stubEnv('PERDURE_TOKEN', 'mine')
  await (await openServerTarget(url, tokenFileFor(url))).conversations()
  expect(seen).toEqual(['Bearer mine'])
})

test.each(['PERDURE_TOKEN', 'PERDURE_OPERATOR_TOKEN'])('an empty %s is a mistake', async (name) => {
  vi.stubEnv(name, '')
  await expect(openServerTarget(url, tokenFileFor(url))).rejects.toThrow(`${name} is set and empty`)
  expect(seen).toEqual([])
})

test("an operator's token goes beside the other: of the environment, or of the file where that says who acts", async () => {
  await (await openServerTarget(url, tokenFileFor(url))).conversations()
  vi.stubEnv('PERDURE_TOKEN', 'mine')
  await (await openServerTarget(url, tokenFileFor(url))).conversations()
  vi.stubEnv('PERDURE_OPERATOR_TOKEN', 'ours')
  await (await openServerTarget(url, tokenFileFor(url))).conversations()
  expect(seenOfOperators).toEqual(['Bearer secret-of-operators', undefined, 'Bearer ours'])
})

test.each(['hidden\n', 'hid den', 'hidd\u20acn'])(
  'one that cannot be sent is told, and not shown: %j',
  async (token) => {
    vi.stubEnv('PERDURE_TOKEN', token)
    const told = await openServerTarget(url).catch((error: Error) => error.message)
    expect(told).toMatch(/^PERDURE_TOKEN has a character that no token has/)
    expect(told).not.toContain('hid')
  },
)

test.each(['/?a=1', '/#a'])('an address ends with its path: %s', async (rest) => {
  await expect(openServerTarget(url + rest)).rejects.toThrow('without ? or #')
})

test('a token file that was named and cannot be read is told', async () => {
  await expect(openServerTarget(url, join(folder, 'nothing.json'))).rejects.toThrow('--token-file cannot be read')
})
