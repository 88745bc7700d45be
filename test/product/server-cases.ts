import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { assertEqual, type Case, until } from './cases.ts'
import { type NextEnv, nextBuild, nextServer } from './next-process.ts'

const run = promisify(execFile)

export type App = {
  readonly folder: string
  readonly env: NextEnv
  /** The conversations whose refunds were paid. */
  effects(): string[]
}

/** How many events there are. */
function eventsIn({ PERDURE_DB = '' }: NextEnv): number {
  const database = new DatabaseSync(PERDURE_DB, { readOnly: true })
  const { count } = database.prepare('SELECT count(*) AS count FROM events').get() as { count: number }
  database.close()
  return count
}

/** Before there is a server: what the build does, and what a server does by itself when it starts. */
export const serverCases: readonly Case<App>[] = [
  {
    name: 'next build runs none of the two refunds that are due, ends no call, tells no subscriber, and says so',
    async run({ folder, env, effects }) {
      await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'due-work.ts'], {
        cwd: folder,
        env: { ...process.env, ...env },
      })
      assertEqual(effects(), [], 'refunds and what was told before the build')
      const log = eventsIn(env)
      const output = await nextBuild(folder, env)
      assertEqual(effects(), [], 'refunds and what was told after the build')
      assertEqual(eventsIn(env), log, 'events after the build')
      assertEqual(output.includes('the runtime does not work during next build'), true, 'the build says why')
    },
  },
  {
    name: 'next start runs both, once, before the first request',
    async run({ folder, env, effects }) {
      const server = await nextServer('start', folder, env)
      await until('both refunds are paid', () => effects().length >= 2)
      await sleep(1_000)
      assertEqual(effects().sort(), ['due-1', 'due-2'], 'refunds')
      assertEqual(await server.stop('SIGTERM'), 0, 'the exit code of a server that is stopped')
    },
  },
  {
    name: 'ten edits under hot reload give ten right answers',
    async run({ folder, env }) {
      const server = await nextServer('dev', folder, env)
      const file = join(folder, 'lib', 'version.ts')
      const original = readFileSync(file, 'utf8')
      const answers: string[] = []
      for (let edit = 1; edit <= 10; edit++) {
        writeFileSync(file, original.replace('version = 0', `version = ${edit}`))
        // Next.js notices edits after a moment. From then on, agents must be of that code too.
        await until(`Next.js serves version ${edit}`, async () => (await json(`${server.url}/api/version`)) === edit)
        answers.push((await answerOf(server.url, 'edited', `edit ${edit}`)).replace(/ That was .*/, ''))
      }
      writeFileSync(file, original)
      assertEqual(
        answers,
        range(10).map((edit) => `This is version ${edit}. You said edit ${edit}.`),
        'answers',
      )
      await server.stop('SIGTERM')
    },
  },
]

async function answerOf(url: string, id: string, message: string): Promise<string> {
  const { turnId } = (await json(`${url}/api/agents/conversations/${id}/messages`, { agent: 'support', message })) as {
    turnId: string
  }
  const outcome = await json(`${url}/api/agents/conversations/${id}/turns/${turnId}/outcome?waitMs=20000`)
  return (outcome as { text: string }).text
}

async function json(url: string, body?: object): Promise<unknown> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(url, body ? post : {})
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
