import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { freshDatabase } from '../setup/fresh-database.ts'

const root = join(import.meta.dirname, '..', '..')
const token = 'a-token-of-a-test'

type Env = Readonly<Record<string, string>>

function startService(cwd: string, env: Env) {
  const fromSource = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    join(root, 'test/support/perdure-from-source.ts'),
  ]
  return spawn(process.execPath, [...fromSource, join(root, 'examples/deploy/server.ts')], {
    cwd,
    env: { ...process.env, HOST: '127.0.0.1', PORT: '0', API_TOKEN: token, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs so many services beside each other, which must end well when they are stopped. */
async function withServices(env: Env, count: number, use: (urls: string[]) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-deploy-'))
  const services = Array.from({ length: count }, () => startService(folder, env))
  const lines = await Promise.all(services.map((service) => once(service.stdout, 'data')))
  await use(lines.map(([line]) => `http://127.0.0.1:${/\d+/.exec(String(line))![0]}`))
  for (const service of services) {
    service.kill('SIGTERM')
    expect(await once(service, 'exit')).toEqual([0, null])
  }
  rmSync(folder, { recursive: true })
}

const answerOfServiceOn = (env: Env): Promise<void> =>
  withServices(env, 1, async ([url = '']) => {
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    expect((await fetch(`${url}/conversations`)).status).toBe(401)
    const conversation = createClient({ url, token }).conversation('c1', { agent: 'helper' })
    const { turnId } = await conversation.send('Hi')
    expect(await conversation.outcome(turnId)).toMatchObject({ text: 'Hello from a container.' })
  })

const SECRET = 'a secret of a test, which all of its services share'

test('the service answers on sqlite, and ends well when it is stopped', () => answerOfServiceOn({}))

test('the service answers on postgres, and ends well when it is stopped', async () =>
  answerOfServiceOn({ DATABASE_URL: await freshDatabase(inject('postgresUrl')), SECRET }))

test('of two services on postgres, one gives out a file by the address that the other has signed', async () =>
  withServices(
    { DATABASE_URL: await freshDatabase(inject('postgresUrl')), SECRET },
    2,
    async ([one = '', two = '']) => {
      const conversation = createClient({ url: one, token }).conversation('c1', { agent: 'helper' })
      const data = `data:text/plain;base64,${Buffer.from('a file').toString('base64')}`
      const { turnId } = await conversation.send([{ type: 'file', mediaType: 'text/plain', data }])
      await conversation.outcome(turnId)
      const headers = { authorization: `Bearer ${token}` }
      const page = await (await fetch(`${one}/ui/helper/c1/messages`, { headers })).text()
      const path = /\/conversations\/c1\/files\/[0-9a-f]{64}\?signed=[^"]+/.exec(page)![0]
      expect((await fetch(two + path)).status).toBe(200)
    },
  ))

test('a service on postgres does not start without the secret that it must share', async () => {
  const service = startService(tmpdir(), { DATABASE_URL: 'postgres://127.0.0.1/none', SECRET: '' })
  const [told] = (await once(service.stderr, 'data')) as [Buffer]
  expect(await once(service, 'exit')).toEqual([1, null])
  expect(String(told)).toContain('SECRET')
})

test('the guide shows the Dockerfile as it is', () => {
  const dockerfile = readFileSync(join(root, 'examples', 'deploy', 'Dockerfile'), 'utf8')
  expect(readFileSync(join(root, 'docs', 'deploying.md'), 'utf8')).toContain(`\`\`\`dockerfile\n${dockerfile}\`\`\`\n`)
})
