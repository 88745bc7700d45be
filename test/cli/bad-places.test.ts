import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { perdure } from './perdure.ts'

let folder: string
const nowhere = 'its folder does not exist, or takes nothing new'

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-places-'))
  writeFileSync(
    join(folder, 'notes.txt'),
    'These are notes, and no SQLite database, whatever is said of them. '.repeat(9),
  )
  const store = sqliteStore({ path: join(folder, 'agents.db') })
  await store.putConversation('ticket-1', { agent: 'support' })
  await store.close()
})

afterAll(() => rmSync(folder, { recursive: true }))

test('what cannot be written says why and what to do, and leaves nothing behind', async () => {
  const before = readdirSync(folder)
  const ended = await Promise.all(
    [
      ['export', '--store', 'agents.db', 'nowhere/backup.jsonl'],
      ['export', '--store', 'agents.db', 'notes.txt/backup.jsonl'],
      ['init', 'notes.txt/agents'],
      ['demo', '--offline', '--store', 'notes.txt/perdure.db'],
      ['migrate', '--store', 'notes.txt/agents.db'],
    ].map((words) => perdure(words, { cwd: folder })),
  )
  expect(ended.map(({ code, stderr }) => [code, stderr.replaceAll(folder, '.').trim()])).toEqual([
    [2, told("'nowhere/backup.jsonl'", nowhere, 'name another file', 'export')],
    [2, told("'notes.txt/backup.jsonl'", 'a folder above it is a file', 'name another file', 'export')],
    [2, told("'./notes.txt/agents'", 'a folder above it is a file', 'name another folder', 'init')],
    [2, told("'./notes.txt'", 'a folder of it is a file', 'name another file with --store', 'demo')],
    [2, told("'./notes.txt'", 'a folder of it is a file', 'name another place for the store', 'migrate')],
  ])
  expect(readdirSync(folder)).toEqual(before)
})

test.skipIf(!existsSync('/proc/self'))('a place where nothing can be made is refused at once', async () => {
  const ended = await Promise.all(
    [
      ['import', '--store', '/proc/perdure/agents.db'],
      ['migrate', '--store', '/proc/perdure'],
      ['demo', '--offline', '--store', '/proc/perdure/agents.db'],
      ['init', '/proc/perdure/agents'],
      ['list', '--store', '/proc/perdure/agents.db'],
    ].map((words) => perdure(words, { cwd: folder })),
  )
  expect(ended.map(({ code, stderr }) => [code, stderr.trim()])).toEqual([
    [2, told("'/proc/perdure'", nowhere, 'name another place for the store', 'import')],
    [5, expect.stringMatching(/^error The store .*'\/proc\/perdure'/)],
    [2, told("'/proc/perdure'", nowhere, 'name another file with --store', 'demo')],
    [2, told("'/proc/perdure/agents'", nowhere, 'name another folder', 'init')],
    [5, expect.stringMatching(/^error There is no store at '\/proc\/perdure\/agents.db'/)],
  ])
})

test('a demo on a file that is no store says so once', async () => {
  const { code, stdout, stderr } = await perdure(['demo', '--offline', '--store', 'notes.txt'], { cwd: folder })
  expect(code).toBe(5)
  expect(stderr).toContain('It is not an SQLite database. Give the path of another file.')
  expect(stdout).not.toContain('notes.txt')
})

test('a server on a file that is no store, without a token file or on a strange host does not begin', async () => {
  const config = join(folder, 'perdure.config.mjs')
  const configs = {
    store: `{ agents: [], store: 'notes.txt' }`,
    token: `{ agents: [], store: 'agents.db', server: { port: 0, localTokenFile: 'notes.txt/server.json' } }`,
    host: `{ agents: [], store: 'agents.db', server: { port: 0, host: '192.0.2.1', authenticate: () => null } }`,
  }
  const ended: [number | null, string][] = []
  for (const text of Object.values(configs)) {
    writeFileSync(config, `export default ${text}`)
    const { code, stdout, stderr } = await perdure(['serve'], { cwd: folder })
    expect(stdout).toBe('')
    ended.push([code, stderr])
  }
  expect(ended).toEqual([
    [5, expect.stringMatching(/^error The store .* It is not an SQLite database\. Give the path of another file\.\n$/)],
    [2, expect.stringContaining("'notes.txt/server.json' cannot be written, because a folder")],
    [
      2,
      expect.stringContaining(
        "The host '192.0.2.1' is not an address of this machine (EADDRNOTAVAIL); pass another with",
      ),
    ],
  ])
})

function told(place: string, why: string, advice: string, command: string): string {
  return `error ${place} cannot be written, because ${why}; ${advice}. Run: perdure ${command} --help`
}

test('an error in a file that the config imports is told with that file and line', async () => {
  writeFileSync(join(folder, 'other.mjs'), 'export const tools = []\n')
  const wrong: [string, string, number][] = [
    ['a.ts', 'const agents: number[] = [\n  1, 2\n  }\n', 3],
    ['b.ts', 'enum Tool { refund }\nexport const agents = [Tool]\n', 1],
    ['c.ts', '\nconst given: any = undefined\nexport const agents = given.tools\n', 3],
    ['d.mjs', 'export const agents = [\n  1\n  }\n', 3],
    ['e.mjs', `import { tool } from './other.mjs'\nexport const agents = [tool]\n`, 1],
    ['f.mjs', `export const agents = JSON.parse('{')\n`, 1],
  ]
  const ended = await Promise.all(
    wrong.map(([name, text]) => {
      const config = join(folder, `${name}.config.mjs`)
      writeFileSync(join(folder, name), text)
      writeFileSync(config, `import { agents } from './${name}'\nexport default { agents, store: 'a.db' }\n`)
      return perdure(['list', '--config', config])
    }),
  )
  for (const [index, { code, stderr }] of ended.entries()) {
    const [name, , line] = wrong[index]!
    expect(code).toBe(2)
    expect(stderr).toContain(`(${join(folder, name)}:${line}). Correct it.`)
  }
})
