import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'

/** The server of the example. Its page runs in a browser: test/browser/hooks.test.ts. */
const root = join(import.meta.dirname, '..', '..')
let folder = ''
let server: ChildProcess
let url = ''

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-react-'))
  await start('0')
})
afterEach(async () => {
  await stop('SIGINT')
  rmSync(folder, { recursive: true })
})

test('the server asks the browser where it is, books a tour once it is approved, and waits through a kill', async () => {
  const chat = createClient({ url }).conversation('walk-1', { agent: 'guide' })
  const first = await chat.send('Where am I?')
  const asked = await chat.outcome(first.turnId)
  expect(asked).toMatchObject({ status: 'waiting', pending: [{ kind: 'client_exec', tool: 'locate' }] })
  if (asked.status !== 'waiting') return
  await chat.answer(asked.pending[0]!, { ok: true, result: { latitude: 48.2, longitude: 16.4 } })
  expect(await chat.outcome(first.turnId)).toMatchObject({ status: 'completed', text: 'You are in Vienna.' })

  const second = await chat.send('A tour, please')
  const tour = await chat.outcome(second.turnId)
  expect(tour).toMatchObject({ pending: [{ kind: 'approval', description: 'Book a seat on the old town tour' }] })
  await stop('SIGKILL')
  await start(new URL(url).port)
  if (tour.status !== 'waiting') return
  await chat.approve(tour.pending[0]!)
  expect(await chat.outcome(second.turnId)).toMatchObject({
    status: 'completed',
    text: expect.stringContaining('You have a seat.'),
  })
})

test('the page has at most 40 lines', () => {
  expect(readFileSync(join(root, 'examples/react/page.tsx'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(
    40,
  )
})

async function start(port: string): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', '--import', join(root, 'test/support/perdure-from-source.ts')]
  server = spawn(process.execPath, [...args, join(root, 'examples/react/server.ts')], {
    env: { ...process.env, PORT: port, STORE: join(folder, 'chats.db') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(server.stdout!, 'data')
  url = /http:\S+/.exec(String(line))![0]
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const exited = once(server, 'exit')
  server.kill(signal)
  await exited
}
