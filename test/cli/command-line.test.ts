import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commonArgs } from '../../src/cli/command.ts'
import { commandTable, loadCommand } from '../../src/cli/command-table.ts'
import { parseArguments } from '../../src/cli/run-cli.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { main, perdure, repository } from './perdure.ts'
import { type InTerminal, startInTerminal } from './start-in-terminal.ts'

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-words-'))
  const store = sqliteStore({ path: join(folder, 'agents.db') })
  for (let n = 0; n < 3; n += 1) await store.putConversation(`ticket-${n}`, { agent: 'support' })
  await store.close()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('help lists every command, and that of each command has examples', async () => {
  const [general, one] = await Promise.all([perdure([]), perdure(['help', 'approve'])])
  expect(general.code).toBe(0)
  const width = Math.max(...commandTable.map(({ name }) => name.length))
  for (const { name, summary } of commandTable) {
    expect(general.stdout).toContain(`  ${name.padEnd(width)}  ${summary}\n`)
  }
  expect(one.stdout).toContain('perdure approve <conversation> [options]')
  expect(one.stdout).toContain('perdure approve ticket-42')
  expect(general.stdout + one.stdout).not.toContain('\u001b')
})

test.each(commandTable)('the examples of $name are command lines it takes', async (entry) => {
  const { args, examples } = await loadCommand(entry)
  expect(examples.length).toBeGreaterThan(0)
  for (const [line] of examples) {
    const [command = ''] = line.split(/ [|<>] /)
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
    expect(words.slice(0, entry.name.split(' ').length).join(' ')).toBe(entry.name)
    const rest = words.slice(entry.name.split(' ').length)
    expect(() => parseArguments(entry.name, { ...args, ...commonArgs }, rest)).not.toThrow()
  }
})

test('the guide tells of every command', () => {
  const guide = readFileSync(join(repository, 'docs', 'cli.md'), 'utf8')
  const missing = commandTable.filter(
    ({ name }) => !guide.includes(`\`perdure ${name}`) && !guide.includes(`\`${name}\``),
  )
  expect(missing.map(({ name }) => name)).toEqual([])
})

test('a command line that makes no sense is refused with what to do', async () => {
  const store = ['--store', join(folder, 'agents.db')]
  const lines: [string[], string][] = [
    [['lisp'], "There is no command 'lisp'; the nearest is 'list'. Run: perdure --help"],
    [['aprove', 'ticket-42'], "There is no command 'aprove'; the nearest is 'approve'"],
    [['ibnox'], "There is no command 'ibnox'; the nearest is 'inbox'"],
    [['un', 'ticket-42'], "There is no command 'un'; the nearest is 'undrain'"],
    [['conversations'], "There is no command 'conversations'. Run: perdure --help"],
    [['--limit', 'list'], "'--limit' comes before the command"],
    [['list', '--foo'], "Unknown option '--foo'"],
    [['list', 'all', ...store], "'all' is one word too many"],
    [
      ['list', '--status', 'open', ...store],
      "--status is 'open'; use one of: active, waiting, sleeping, idle, ended, done, failed. Run",
    ],
    [['list', '--limit', '0', ...store], "--limit is '0', and must be a whole number from 1 on"],
    [['list', '--store', ''], '--store is empty'],
    [['serve', '--port', '99999'], "--port is '99999', and must be a whole number from 0 to 65535"],
    [['show'], '<conversation> is missing'],
    [['note', 'ticket-42'], '<name> is missing'],
    [['list', '--store'], '--store has no value'],
    [['list', '--limit', '-1'], '--limit has no value; one that begins with a dash is written as --limit=-1'],
    [['fork', 'ticket-42', '--continue=yes'], '--continue takes no value'],
    [['list', '--url', 'here'], "--url is 'here', which is not like http://127.0.0.1:4111"],
    [['list', '--url', 'http://me:secret@127.0.0.1:1'], 'put a token into PERDURE_TOKEN'],
    [['list', '--url', 'http://127.0.0.1:1', ...store], '--store is for a store, and --url names a server'],
  ]
  const ended = await Promise.all(lines.map(([args]) => perdure(args)))
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(lines[index]![1])
    expect(stderr).toMatch(new RegExp(` Run: perdure (${lines[index]![0][0]} )?--help\n$`))
    expect(stderr).not.toMatch(/\n {4}at |secret/)
  }
})

test('every hint names a command that there is', () => {
  const named = sources(join(repository, 'src')).flatMap((code) =>
    [...code.matchAll(/new CommandLineError\((?:[^()]|\([^()]*\))*?,\s*'([a-z ]+)',?\s*\)/g)].map(([, name]) => name!),
  )
  const told = sources(join(repository, 'src')).flatMap((code) =>
    [...code.matchAll(/\b[Rr]un: perdure ([a-z]+)/g)].map(([, name]) => name!),
  )
  expect(named.length).toBeGreaterThan(8)
  expect(told).toContain('init')
  const known = new Set(commandTable.flatMap(({ name }) => [name, name.split(' ')[0]]))
  expect([...named, ...told].filter((name) => !known.has(name))).toEqual([])
})

test('an answer to nothing that waits prints how to look at it, in the same place', async () => {
  const store = join(folder, 'agents.db')
  const { code, stderr } = await perdure(['approve', 'ticket-0', '--store', store])
  expect(code).toBe(3)
  expect(stderr).toBe(
    `error Nothing in 'ticket-0' waits for an approval. Run: npm run -s perdure -- show ticket-0 --store ${store}\n`,
  )
})

function sources(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => /(?<!\.test)\.ts$/.test(file)).map((file) => readFileSync(join(folder, file), 'utf8'))
}

test('stack traces are shown with --verbose, and only then', async () => {
  const [quiet, verbose] = await Promise.all([
    perdure(['list', '--url', 'http://127.0.0.1:2']),
    perdure(['list', '--url', 'http://127.0.0.1:2', '--verbose']),
  ])
  expect([quiet.code, verbose.code]).toEqual([5, 5])
  expect(quiet.stderr).toContain('The server could not be reached: connect ECONNREFUSED 127.0.0.1:2.')
  expect(quiet.stderr).not.toMatch(/\n {4}at /)
  expect(verbose.stderr).toMatch(/\n {4}at [\s\S]*caused by: /)
})

test('colours are for terminals, unless they are switched off', async () => {
  const args = [main, 'list', '--limit', '2', '--store', join(folder, 'agents.db')]
  const coloured = startInTerminal(args, { cwd: folder })
  const plain = startInTerminal(args, { cwd: folder, env: { NO_COLOR: '1' } })
  for (const terminal of [coloured, plain]) expect(await terminal.exited()).toMatchObject({ exitCode: 0 })
  const isStyled = ({ model }: InTerminal) => model.rows().some((row) => row.some(({ style }) => style.length > 0))
  expect([isStyled(coloured), isStyled(plain)]).toEqual([true, false])
  const piped = await perdure(args.slice(1), { env: { FORCE_COLOR: '1' } })
  expect(piped.stdout).not.toContain('\u001b')
})

describe('the store', () => {
  const ids = (stdout: string) => JSON.parse(stdout).conversations.map(({ id }: { id: string }) => id)
  const configOf = (store: string) => `import { agents } from '${repository}/test/cli/agents.ts'
    export default { agents, store: '${store}' }`

  test('is that of --store, of the config above, of PERDURE_STORE, or the usual one, in this order', async () => {
    const place = join(folder, 'order')
    const inside = join(place, 'deep', 'inside')
    mkdirSync(inside, { recursive: true })
    mkdirSync(join(inside, '.perdure'))
    const names = ['given', 'config', 'env', 'usual']
    for (const name of names) {
      const store = sqliteStore({
        path: name === 'usual' ? join(inside, '.perdure/perdure.db') : join(place, `${name}.db`),
      })
      await store.putConversation(name, {})
      await store.close()
    }
    const env = { PERDURE_STORE: join(place, 'env.db') }
    const [usual, fromEnv] = await Promise.all([
      perdure(['list', '--json'], { cwd: inside }),
      perdure(['list', '--json'], { cwd: inside, env }),
    ])
    writeFileSync(join(place, 'perdure.config.ts'), configOf('config.db'))
    const [config, given] = await Promise.all([
      perdure(['list', '--json'], { cwd: inside, env }),
      perdure(['list', '--json', '--store', '../../given.db'], { cwd: inside, env }),
    ])
    expect([given, config, fromEnv, usual].map(({ stdout }) => ids(stdout))).toEqual(names.map((name) => [name]))
  })

  test('is never made by looking at it', async () => {
    const place = join(folder, 'empty')
    mkdirSync(place)
    const [nothing, named] = await Promise.all([
      perdure(['list'], { cwd: place }),
      perdure(['show', 'x', '--store', 'a.db'], { cwd: place }),
    ])
    expect([nothing.code, named.code]).toEqual([5, 5])
    expect(nothing.stderr).toContain('Pass --store <path or postgres://…> or --url, or run: perdure init')
    expect(named.stderr).toContain(`There is no store at '${join(place, 'a.db')}'`)
    writeFileSync(join(place, 'perdure.config.ts'), configOf('.perdure/perdure.db'))
    const configured = await perdure(['inbox'], { cwd: place })
    expect(configured.code).toBe(5)
    expect(configured.stderr).toContain('Run: perdure serve, which creates it')
    expect(readdirSync(place)).toEqual(['perdure.config.ts'])
  })
})

test.each([
  ['throws', `throw new Error('no key')`, 'throws when it is loaded: no key'],
  ['exports nothing', 'export const agents = []', 'has no default export'],
  ['has no agents', `export default { store: 'a.db' }`, "has no list 'agents'"],
  ['is misspelt', `export default { agents: [], store: 'a.db', flow: [] }`, "has an unknown key 'flow' (known: agents"],
  ['has no store', 'export default { agents: [] }', "has no 'store'"],
  ['is not TypeScript', 'export default {{', 'throws when it is loaded'],
])('a config that %s is told as such', async (name, code, problem) => {
  const file = join(folder, `${name.replaceAll(' ', '-')}.config.ts`)
  writeFileSync(file, code)
  const ended = await perdure(['list', '--json', '--config', file])
  const { error } = JSON.parse(ended.stderr)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(problem) })
})
