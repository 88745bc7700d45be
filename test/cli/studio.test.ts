import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { perdure, type Running, repository, startPerdure } from './perdure.ts'

let folder: string
const started: Running[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-studio-command-'))
})
afterEach(async () => {
  for (const { process: child, ended } of started.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a command that goes on running, and returns what its first line says. */
async function start(...args: string[]) {
  const running = startPerdure([...args, '--json'], { cwd: folder })
  started.push(running)
  let text = ''
  running.process.stdout.on('data', (more: string) => {
    text += more
  })
  await running.until('\n')
  return { running, told: JSON.parse(text.split('\n')[0]!) as { readonly url: string; readonly studio: string } }
}

function writeConfig(server: string): void {
  writeFileSync(
    join(folder, 'perdure.config.ts'),
    `import { agents } from '${repository}/test/cli/agents.ts'
    export default { agents, store: '.perdure/perdure.db', server: ${server} }`,
  )
}

const exchange = (studio: string) => {
  const [address, code] = studio.split('#code=')
  const headers = { 'content-type': 'application/json' }
  return fetch(`${address}/session`, { method: 'POST', headers, body: JSON.stringify({ code }) })
}

test('serve prints an address that signs in once, and studio prints another', async () => {
  writeConfig("{ port: 0, basePath: '/api/agents' }")
  const { told } = await start('serve')
  const tokenFile = join(folder, '.perdure', 'server.json')
  const { studioUrl } = JSON.parse(readFileSync(tokenFile, 'utf8')) as { studioUrl: string }
  expect(studioUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/agents\/studio$/)
  expect((await fetch(`${studioUrl}/inbox`)).headers.get('content-type')).toContain('text/html')
  const printed = await perdure(['studio', '--json'], { cwd: folder })
  const { studio } = JSON.parse(printed.stdout) as { studio: string }
  expect(studio.startsWith(`${studioUrl}#code=`)).toBe(true)
  expect([(await exchange(studio)).status, (await exchange(studio)).status]).toEqual([200, 403])
  expect(told.studio.startsWith(`${studioUrl}#code=`)).toBe(true)
  expect(told.studio).not.toBe(studio)
  expect((await exchange(told.studio)).status).toBe(200)
})

test('studio needs a server that runs here', async () => {
  const without = await perdure(['studio'], { cwd: folder })
  expect(without.code).toBe(2)
  expect(without.stderr).toContain('so no server runs here; start one with perdure serve')
})

test('a config turns the studio off', async () => {
  writeConfig('{ port: 0, studio: false }')
  const { told } = await start('serve')
  expect(told.studio).toBe(undefined)
  expect((await fetch(`${told.url}/studio`)).status).toBe(404)
  const { code, stderr } = await perdure(['studio'], { cwd: folder })
  expect([code, stderr]).toEqual([2, expect.stringContaining('has no studio; give it the option studio: true')])
})

test('a server that was killed left its file behind, and studio says that it does not answer', async () => {
  writeConfig('{ port: 0 }')
  const { running } = await start('serve')
  running.process.kill('SIGKILL')
  await running.ended
  expect(existsSync(join(folder, '.perdure', 'server.json'))).toBe(true)
  const { code, stderr } = await perdure(['studio'], { cwd: folder })
  expect([code, stderr]).toEqual([5, expect.stringContaining('no server answers at')])
})

test('studio with a file serves that file to this machine and nothing else', async () => {
  const text = '{"perdure":"export"}\n'
  writeFileSync(join(folder, 'backup.jsonl'), text)
  const { running, told } = await start('studio', 'backup.jsonl')
  const printed = told.studio
  expect(printed).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{24}\/studio\/open\?from=export\.jsonl$/)
  const page = await fetch(printed)
  expect([page.status, page.headers.get('content-security-policy')]).toEqual([
    200,
    expect.stringContaining("default-src 'self'"),
  ])
  const file = await fetch(new URL('export.jsonl', printed))
  expect([file.status, await file.text(), file.headers.get('cache-control')]).toEqual([200, text, 'no-store'])
  const { origin } = new URL(printed)
  for (const path of ['/', '/studio/open', '/studio/export.jsonl', '/conversations'])
    expect((await fetch(origin + path)).status).toBe(404)
  const elsewhere = { headers: { origin: 'https://evil.example' } }
  expect((await fetch(new URL('export.jsonl', printed), elsewhere)).status).toBe(403)
  expect((await fetch(new URL('export.jsonl', printed), { method: 'POST' })).status).toBe(405)
  running.process.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
})

test('studio names a file that is not there', async () => {
  const { code, stderr } = await perdure(['studio', 'nothing.jsonl'], { cwd: folder })
  expect([code, stderr]).toEqual([2, expect.stringContaining("There is no file 'nothing.jsonl'")])
})
