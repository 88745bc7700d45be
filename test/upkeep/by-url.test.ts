import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { readLocalAccess } from '../../src/server/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { turnEnded, userMsg } from '../../src/testing/conformance/event-builders.ts'
import { perdure, perdureJson, type Running, startPerdure } from '../cli/perdure.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { until } from '../stories/until.ts'
import { fillLog } from './fill-store.ts'
import { liveIn } from './lived-in-store.ts'
import { type ServedStore, serveStore } from './serve-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-by-url-'))
const path = (name: string): string => join(folder, name)
const source = path('source.db')
const all = path('all.jsonl')
const part = path('part.jsonl')
let main: ServedStore
let others: ServedStore[] = []

beforeAll(async () => {
  const store = sqliteStore({ path: source, logger: silentLogger })
  await liveIn(store)
  await store.close()
  await perdure(['export', all, '--store', source])
  await perdure(['export', part, '--tenant', 'other', '--store', source])
  main = await serveStore(path('main'), source)
})

afterEach(async () => {
  const told = await Promise.all(others.map((served) => served.kill()))
  others = []
  // Nothing that happens to clients here is a failure of the server.
  expect(told.join('')).toBe('')
})

afterAll(async () => {
  expect(await main.kill()).toBe('')
  rmSync(folder, { recursive: true })
})

async function served(...args: Parameters<typeof serveStore>): Promise<ServedStore> {
  const server = await serveStore(...args)
  others.push(server)
  return server
}

describe('a command says on a server what it says on its store', () => {
  test.each([
    ['export', ['export', path('OUT')]],
    ['export of one tenant', ['export', path('ONE'), '--tenant', 'other', '--json']],
    ['export of no tenant', ['export', path('OUT'), '--tenant', '\u0007']],
    ['doctor', ['doctor']],
    ['doctor for scripts, of one tenant', ['doctor', '--json', '--tenant', 'other']],
    ['doctor against the same', ['doctor', '--against', all]],
    ['doctor against a part', ['doctor', '--against', part, '--json']],
    ['doctor against nothing', ['doctor', '--against', path('nothing')]],
    ['import of what is there', ['import', all]],
    ['import of what is missing', ['import', all, '--skip-existing']],
    ['import of something else', ['import', source]],
    ['migrate', ['migrate', '--json']],
    ['migrate that only looks', ['migrate', '--check']],
    ['unquarantine of what is not quarantined', ['unquarantine', 'due']],
    ['unquarantine of what is not there', ['unquarantine', 'nothing', '--json']],
    ['gc that only counts', ['gc', '--dry-run', '--audit-older-than', '0s', '--unsent']],
    ['gc with a wrong option', ['gc', '--audit-older-than', 'soon', '--json']],
  ] as const)('%s', async (_, args) => {
    const [direct, remote] = await Promise.all(
      (['store', 'server'] as const).map(async (way) => {
        const line = args.map((word) => word.replace(/OUT$|ONE$/, (name) => `${name}.${way}`))
        const { code, stdout, stderr } = await perdure([...line, ...main.ways[way]])
        const told = (text: string) =>
          text.replaceAll(source, 'PLACE').replaceAll(`${main.url}/`, 'PLACE').replaceAll(`.${way}`, '')
        return { code, stdout: told(stdout), stderr: told(stderr) }
      }),
    )
    expect(remote).toEqual(direct)
    expect(`${remote!.stdout}${remote!.stderr}`).not.toBe('')
  })

  test('and an export has the same bytes, in a file and on stdout', async () => {
    const inFile = path('same.jsonl')
    expect((await perdure(['export', inFile, ...main.ways.server])).code).toBe(0)
    expect(readFileSync(inFile).equals(readFileSync(all))).toBe(true)
    expect((await perdure(['export', ...main.ways.server])).stdout).toBe(readFileSync(all, 'utf8'))
    const ofOne = (await perdure(['export', '--tenant', 'other', ...main.ways.server])).stdout
    expect(ofOne).toBe(readFileSync(part, 'utf8'))
  })

  test('and a server tells of work that its own config has no code for', async () => {
    const { code, stdout } = await perdure(['doctor', ...main.ways.server])
    expect(code).toBe(1)
    expect(stdout).toContain("fault agent_unknown default/due: it has work to do for 'echo'")
  })

  test.each(['store', 'server'] as const)(
    'and a quarantined conversation is told of and released (%s)',
    async (way) => {
      const file = path(`poison.${way}.db`)
      const store = sqliteStore({ path: file, logger: silentLogger })
      await store.commit('poison', { events: [userMsg(), turnEnded()], conversation: { agent: 'deadly' } })
      for (let lease = 0; lease <= 5; lease++) {
        await store.claimLease('poison', `dead-${lease}`, 1)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await store.close()
      const { ways } = await served(path(`poison.${way}`), file)
      const doctor = () => perdure(['doctor', ...ways[way]])
      expect(await doctor()).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('fault quarantined default/poison'),
      })
      expect((await perdure(['list', ...ways[way]])).stderr).toContain("'poison' is quarantined")
      const release = () => perdureJson(['unquarantine', 'poison', ...ways[way]])
      expect(await release()).toMatchObject({ code: 0, value: { id: 'poison', unquarantined: true } })
      expect(await release()).toMatchObject({ code: 1, value: { id: 'poison', unquarantined: false } })
      expect((await doctor()).stdout).not.toContain('fault quarantined')
    },
  )

  test('and what it repairs and removes is the same', async () => {
    const results = []
    for (const way of ['store', 'server'] as const) {
      const file = path(`sick.${way}.db`)
      await perdure(['import', all, '--store', file])
      const db = new DatabaseSync(file)
      db.exec("UPDATE conversations SET status = 'idle' WHERE id = 'waiting'")
      db.close()
      const sick = await served(path(`sick.${way}`), file)
      const options = ['--audit-older-than', '0s', '--unsent', '--compact', '--json']
      const ended = [
        await perdure(['doctor', '--repair', '--json', ...sick.ways[way]]),
        await perdure(['gc', ...options, ...sick.ways[way]]),
        await perdure(['doctor', ...sick.ways[way]]),
      ]
      results.push(ended.map(({ code, stdout }) => [code, stdout.replaceAll(file, '').replaceAll(`${sick.url}/`, '')]))
    }
    expect(results[1]).toEqual(results[0])
    expect(results[1]![0]![1]).toContain('"outcome":"repaired"')
    expect(JSON.parse(String(results[1]![1]![1]))).toMatchObject({ blobs: 1, pins: 1, isCompacted: true })
  })
})

test('export | import goes from server to server and to another backend, and is identical by doctor (postgres)', async () => {
  const postgres = await freshDatabase(inject('postgresUrl'))
  const target = await served(path('target'), postgres)
  const left = startPerdure(['export', ...main.ways.server])
  const right = startPerdure(['import', ...target.ways.server])
  left.process.stdout.pipe(right.process.stdin)
  const [written, read] = await Promise.all([left.ended, right.ended])
  expect([written.code, read.code]).toEqual([0, 0])
  expect(read.stdout).toMatch(/^Imported \d+ conversations into http:/)
  const examined = await Promise.all([main, target].map(({ ways }) => lastOf(['doctor', ...ways.server])))
  expect(examined[1]).toEqual(examined[0])
  expect(examined[1]!.digest).toBe(/Digest: (\w+)/.exec(written.stderr)![1])
})

test('two imports at once bring everything once', async () => {
  const target = await served(path('twice'), path('twice.db'))
  const both = await Promise.all(
    [1, 2].map(() => perdureJson(['import', all, '--skip-existing', ...target.ways.server])),
  )
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  const { digest, conversations } = await lastOf(['doctor', '--against', all, ...target.ways.server])
  expect(both.reduce((sum, { value }) => sum + value.conversations, 0)).toBe(conversations)
  expect(digest).toBe((await lastOf(['doctor', ...main.ways.server])).digest)
})

describe('an import that is broken off', () => {
  test.each(['the client', 'the server'])(
    'because %s is killed leaves whole conversations, and is begun again',
    async (who) => {
      const file = path(`broken.${who}.db`)
      const target = await served(path(`broken.${who}`), file)
      const text = readFileSync(all)
      const importing = startPerdure(['import', ...target.ways.server])
      // In the middle of the longest conversation.
      importing.process.stdin.write(text.subarray(0, text.indexOf('"id":"long"') + 20_000))
      const watched = sqliteStore({ path: file, logger: silentLogger, expiry: false })
      await until(async () => (await watched.listConversations({ limit: 100 })).length >= 5)
      await watched.close()
      if (who === 'the client') importing.process.kill('SIGKILL')
      else await target.kill()
      const { code, stderr } = await importing.ended
      if (who === 'the server') {
        expect(code).toBe(5)
        expect(stderr).toMatch(
          /^error The connection broke during the import; .* run it again with --skip-existing\.\n$/,
        )
      }
      const again = who === 'the server' ? await served(path(`broken.${who}`), file) : target
      const before = await lastOf(['doctor', ...again.ways.server])
      // Its agents are not those of this server; nothing else is wrong.
      const found = await perdure(['doctor', '--json', '--store', file])
      expect(JSON.parse(found.stdout.trimEnd().split('\n').at(-1)!)).toMatchObject({ faults: 0 })
      const { value } = await perdureJson(['import', all, '--skip-existing', ...again.ways.server])
      expect(value.skipped).toBe(before.conversations)
      expect(value.conversations).toBeGreaterThan(0)
      const after = await lastOf(['doctor', '--against', all, ...again.ways.server])
      expect(after).toMatchObject({ differences: 0, digest: (await lastOf(['doctor', ...main.ways.server])).digest })
    },
  )

  test('because the server has had enough is told with the reason, however much is still to come', async () => {
    const much = `${readFileSync(all, 'utf8').split('\n').slice(0, 3).join('\n')}\n${'{"line":"nonsense"}\n'.repeat(500_000)}`
    const target = await served(path('enough'), path('enough.db'))
    const [refused, invalid] = await Promise.all([
      perdure(['import', '--url', target.url], { stdin: much, env: { PERDURE_TOKEN: 'guessed' } }),
      perdure(['import', ...target.ways.server], { stdin: much }),
    ])
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/^error This route is for operators/)])
    const direct = await perdure(['import', '--store', path('enough.direct.db')], { stdin: much })
    expect(direct.code).toBe(2)
    expect([invalid.code, invalid.stderr]).toEqual([direct.code, direct.stderr])
  })

  test('by its source is told as on a store', async () => {
    const target = await served(path('cut'), path('cut.db'))
    const half = readFileSync(all, 'utf8').slice(0, -40)
    const { code, stderr } = await perdure(['import', ...target.ways.server], { stdin: half })
    expect([code, stderr]).toEqual([2, expect.stringMatching(/Line \d+ of the export is not valid: it is cut off/)])
  })
})

describe('an export that is broken off', () => {
  test('because the server is killed has failed, and says so', async () => {
    const file = path('large.db')
    const store = sqliteStore({ path: file, logger: silentLogger })
    await fillLog(store, 'long', 200, 200_000)
    await store.close()
    const large = await served(path('large'), file)
    const exporting = startPerdure(['export', ...large.ways.server])
    await stalled(exporting)
    await large.kill()
    exporting.process.stdout.resume()
    const { code, stdout, stderr } = await exporting.ended
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining('The connection broke during the export, and its output is not'),
    ])
    expect(stdout).not.toContain('"line":"end"')
  })

  test('by something between leaves no file, though the answer ended well', async () => {
    const text = readFileSync(all)
    const between = createServer((request, answer) => {
      const lines = request.url?.startsWith('/store/export')
        ? text.subarray(0, text.length / 2)
        : '{"type":"progress"}\n'
      answer.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(lines)
    }).listen(0, '127.0.0.1')
    await once(between, 'listening')
    const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`
    const ended = await Promise.all([
      perdure(['export', path('half.jsonl'), '--url', url]),
      perdure(['doctor', '--url', url]),
      perdure(['gc', '--url', url]),
      perdure(['import', all, '--url', url]),
    ])
    between.close()
    expect(ended.map(({ code, stderr }) => [code, stderr.split(/[,;.]/)[0]])).toEqual([
      [5, 'error The connection broke during the export'],
      [5, 'error The connection broke before the examination ended'],
      [5, 'error The connection broke before the server said what it removed'],
      [5, 'error The connection broke during the import'],
    ])
    expect(readdirSync(folder).filter((name) => name.startsWith('half'))).toEqual([])
  })

  test('because its reader goes away has failed', async () => {
    const running = startPerdure(['export', ...main.ways.server])
    running.process.stdout.destroy()
    expect((await running.ended).code).toBe(1)
  })
})

describe('Ctrl-C', () => {
  test('leaves nothing of an export that is not whole, and says so', async () => {
    const text = readFileSync(all)
    const endless = createServer((_, answer) => {
      answer.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(text.subarray(0, text.length / 2))
    }).listen(0, '127.0.0.1')
    await once(endless, 'listening')
    const { port } = endless.address() as AddressInfo
    const running = startPerdure(['export', path('ended.jsonl'), '--url', `http://127.0.0.1:${port}`])
    await until(() => existsSync(path('ended.jsonl.partial')))
    running.process.kill('SIGINT')
    const { code, stderr } = await running.ended
    endless.closeAllConnections()
    endless.close()
    expect([code, stderr]).toEqual([130, expect.stringContaining('The export was not finished')])
    expect(readdirSync(folder).filter((name) => name.startsWith('ended'))).toEqual([])
  })

  test('says how to go on with an import, on a server and on a store', async () => {
    const server = await served(path('ended'), path('ended-1.db'))
    for (const [store, way] of [
      [path('ended-1.db'), server.ways.server],
      [path('ended-2.db'), ['--store', path('ended-2.db')]],
    ] as const) {
      const running = startPerdure(['import', ...way])
      running.process.stdin.write(readFileSync(all, 'utf8').split('\n').slice(0, -2).join('\n'))
      await until(async () => (await perdure(['list', '--json', '--store', store])).stdout.includes('"id"'))
      running.process.kill('SIGINT')
      const { code, stderr } = await running.ended
      expect([code, stderr]).toEqual([130, expect.stringContaining('Run it again with --skip-existing.')])
      expect((await perdure(['import', all, '--skip-existing', ...way])).code).toBe(0)
    }
  })
})

describe('who may', () => {
  test('a user who can read the token file, and an operator of the config; no one else', async () => {
    const operators = await served(path('operators'), source, {
      server: `{ port: 0, basePath: '/api/agents', upkeep: { isOperator: (request) => request.headers.get('authorization') === 'Bearer far-away' } }`,
    })
    const { token, operatorToken } = await readLocalAccess(operators.ways.server[3]!)
    const ask = (secret?: string) =>
      perdure(['migrate', '--check', '--url', operators.url], {
        cwd: tmpdir(),
        env: secret === undefined ? {} : { PERDURE_TOKEN: secret },
      })
    const operator = { cwd: tmpdir(), env: { PERDURE_OPERATOR_TOKEN: operatorToken! } }
    expect((await perdure(['migrate', '--check', '--url', operators.url], operator)).code).toBe(0)
    const ended = await Promise.all([undefined, token, 'far-away', operatorToken].map(ask))
    expect(ended.map(({ code }) => code)).toEqual([2, 2, 0, 0])
    for (const { stderr } of ended.slice(0, 2)) {
      expect(stderr).toContain('This route is for operators')
      expect(stderr).toContain("Set PERDURE_OPERATOR_TOKEN to an operator's")
    }
    const asUser = { env: { PERDURE_TOKEN: operatorToken! } }
    expect((await perdure(['list', '--url', operators.url], asUser)).code).toBe(2)
  })

  test('no one where the config says so, and the message says what to do instead', async () => {
    const closed = await served(path('closed'), source, { server: '{ port: 0, upkeep: false }' })
    const { code, stderr } = await perdure(['export', path('closed.jsonl'), ...closed.ways.server])
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /The server at http:.* does not offer maintenance of its store. Check the address, start the server with/,
      ),
    ])
    expect(existsSync(path('closed.jsonl'))).toBe(false)
  })

  test('a place is named once, and a server that is not there is told as such', async () => {
    const ended = await Promise.all([
      perdure(['export', '--url', main.url, '--store', source]),
      perdure(['doctor', '--url', main.url, '--config', 'perdure.config.ts']),
      perdure(['import', all, '--url', main.url, '--tenant', 'other']),
      perdure(['gc', '--url', 'http://127.0.0.1:1']),
      perdure(['gc', '--url', main.url.replace('http:', 'https:')]),
      perdure(['import', folder, ...main.ways.server]),
    ])
    expect(ended.map(({ code }) => code)).toEqual([2, 2, 2, 5, 5, 2])
    expect(ended[0]!.stderr).toContain('--store is for a store, and --url names a server. Run: perdure export --help')
    expect(ended[1]!.stderr).toContain('--config is for a store')
    expect(ended[3]!.stderr).toContain('The server could not be reached: connect ECONNREFUSED')
    expect(ended[4]!.stderr).toContain('The server could not be reached: it speaks another protocol')
    expect(ended[5]!.stderr).toContain('is a folder; name a file')
  })
})

/** Has begun, and is not read from: what is on the way fills up. */
async function stalled({ process: child }: Running): Promise<void> {
  await once(child.stdout, 'data')
  child.stdout.pause()
}

async function lastOf(args: readonly string[]) {
  const { stdout, stderr } = await perdure([...args, '--json'])
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!)
}
