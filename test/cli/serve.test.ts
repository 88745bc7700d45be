import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../src/client/create-client.ts'
import { readLocalAccess } from '../../src/server/index.ts'
import { perdure, perdureJson, type Running, repository, startPerdure } from './perdure.ts'

let folder: string
const started: Running[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-serve-'))
  writeFileSync(
    join(folder, 'perdure.config.ts'),
    `import { agents, flows } from '${repository}/test/cli/agents.ts'
    export default { agents, flows, store: '.perdure/perdure.db', server: { port: 0 } }`,
  )
})

afterEach(async () => {
  for (const { process: child, ended } of started.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

async function startServing(...args: string[]) {
  const running = startPerdure(['serve', '--json', ...args], { cwd: folder })
  started.push(running)
  await running.until('\n')
  const tokenFile = join(folder, '.perdure', 'server.json')
  const access = await readLocalAccess(tokenFile)
  return { running, tokenFile, access, client: createClient(access) }
}

test('serve prints its address, accepts the token of its file, and ends gracefully', async () => {
  const { running, tokenFile, access, client } = await startServing()
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600)
  const chat = client.conversation('ticket-1', { agent: 'support' })
  const { turnId } = await chat.send('Hello')
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed', text: 'Hello.' })
  const [listed, refused, byEnv] = await Promise.all([
    perdureJson(['list', '--url', access.url], { cwd: folder }),
    perdure(['list', '--url', access.url], { cwd: tmpdir() }),
    perdure(['list', '--url', access.url], { cwd: tmpdir(), env: { PERDURE_TOKEN: access.token } }),
  ])
  expect(listed.value.conversations).toHaveLength(1)
  expect([refused.code, byEnv.code]).toEqual([2, 0])
  expect(refused.stderr).toContain('Set PERDURE_TOKEN, or pass --token-file')
  running.process.kill('SIGTERM')
  const ended = await running.ended
  expect(ended.code).toBe(0)
  expect(JSON.parse(ended.stdout)).toMatchObject({ url: access.url, tokenFile, pid: running.process.pid })
  expect(ended.stdout).not.toContain(access.token)
  expect(existsSync(tokenFile)).toBe(false)
})

test('a second Ctrl-C does not wait for what runs', async () => {
  const { running, client } = await startServing()
  const chat = client.conversation('ticket-1', { agent: 'support' })
  await chat.send('Say it slowly')
  running.process.kill('SIGINT')
  running.process.kill('SIGTERM')
  expect((await running.ended).code).toBe(130)
})

test('a port that is taken is told as such', async () => {
  const { access } = await startServing()
  const { code, stderr } = await perdure(['serve', '--port', new URL(access.url).port], { cwd: folder })
  expect(code).toBe(2)
  expect(stderr).toContain('is taken, perhaps by another perdure serve')
})

test('serve needs a config', async () => {
  rmSync(join(folder, 'perdure.config.ts'))
  const { code, stderr } = await perdure(['serve', '--store', 'new.db'], { cwd: folder })
  expect(code).toBe(2)
  expect(stderr).toContain('There is no perdure.config.ts here or above')
  expect(existsSync(join(folder, 'new.db'))).toBe(false)
})

test('a flow is worked on by the command itself when asked to', async () => {
  const started = await perdure(['flows', 'start', 'greeting', 'g1', '"Hi"', '--work'], { cwd: folder })
  expect(started).toMatchObject({ code: 0, stdout: 'g1 waits for "name?"\n' })
  const resumed = await perdure(['flows', 'resume', 'greeting', 'g1', '"Bo"', '--work'], { cwd: folder })
  expect(resumed).toMatchObject({ code: 0, stdout: 'g1 is done: "Hi, Bo"\n' })
  expect(readFileSync(join(folder, '.perdure', 'perdure.db')).length).toBeGreaterThan(0)
})

test('an unhandled error is printed without a stack trace', async () => {
  const config = readFileSync(join(folder, 'perdure.config.ts'), 'utf8')
  const late = `setTimeout(() => { throw new Error('too late') }, 0)`
  writeFileSync(join(folder, 'perdure.config.ts'), `${late}\n${config}`)
  const [quiet, verbose] = await Promise.all([
    perdure(['serve', '--store', 'one.db', '--config', 'perdure.config.ts'], { cwd: folder }),
    perdure(['serve', '--store', 'two.db', '--config', 'perdure.config.ts', '--verbose'], { cwd: folder }),
  ])
  expect(quiet).toMatchObject({ code: 1, stderr: 'error too late (--verbose shows where)\n' })
  expect(verbose.stderr).toMatch(/Error: too late\n {4}at /)
})
