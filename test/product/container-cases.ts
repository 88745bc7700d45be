import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assertEqual, type Case } from './cases.ts'

const run = promisify(execFile)
const source = join(import.meta.dirname, '..', '..', 'examples', 'deploy')
const token = 'a-token-of-a-test'

/** Without Docker: folders under a temporary one stand for those of the image. */
export const containerCases: readonly Case<{ readonly tarball: string }>[] = [
  {
    name: 'the commands of the Dockerfile, in an empty folder, make a service that answers, is healthy, and stops well',
    async run({ tarball }) {
      const image = await mkdtemp(join(tmpdir(), 'perdure-container-'))
      const context = join(image, 'context')
      await cp(source, context, { recursive: true })
      // The package is not on the registry yet; this also writes the lock file that the Dockerfile copies.
      await run('npm', ['install', '--package-lock-only', '--prefer-offline', '--no-audit', '--no-fund', tarball], {
        cwd: context,
      })
      const container = await buildImage(context, image)
      const server = spawn('sh', ['-c', `exec ${container.command}`], {
        cwd: join(image, 'app'),
        env: { ...container.env, PORT: '0', HOST: '127.0.0.1', API_TOKEN: token },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      try {
        const port = /\d+/.exec(String(((await once(server.stdout, 'data')) as [Buffer])[0]))![0]
        const healthcheck = container.healthcheck.replace('8080', port)
        await run('sh', ['-c', healthcheck], { env: container.env })
        assertEqual(await answerAt(`http://127.0.0.1:${port}`), 'Hello from a container.', 'the answer')
        server.kill('SIGTERM')
        assertEqual(await once(server, 'exit'), [0, null], 'how it ended')
      } finally {
        server.kill('SIGKILL')
      }
      await rm(image, { recursive: true })
    },
  },
]

type Container = { env: Record<string, string>; command: string; healthcheck: string }

/** Carries out a Dockerfile, instruction by instruction. Throws at one that it does not know. */
async function buildImage(context: string, image: string): Promise<Container> {
  const inImage = (text: string): string => text.replaceAll(/(?<=^|[ =])\/(app|data)\b/g, `${image}/$1`)
  const { PATH = '', HOME = '' } = process.env
  // What npm has fetched before is not fetched again. The rest is fetched as this machine does it.
  const network = Object.entries(process.env).filter(([name]) =>
    /^(NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i.test(name),
  )
  const env: Record<string, string> = { PATH, HOME, npm_config_prefer_offline: 'true', ...Object.fromEntries(network) }
  const container: Container = { env, command: '', healthcheck: '' }
  let folder = image
  const lines = (await readFile(join(context, 'Dockerfile'), 'utf8')).split('\n')
  for (const line of lines.filter((text) => text.trim() !== '' && !text.startsWith('#'))) {
    const [, instruction, rest] = /^([A-Z]+) (.*)$/.exec(line)!
    if (instruction === 'WORKDIR') {
      folder = inImage(rest!)
      await mkdir(folder, { recursive: true })
    } else if (instruction === 'ENV') {
      const [name, value] = rest!.split('=')
      container.env[name!] = inImage(value!)
    } else if (instruction === 'COPY') {
      const files = rest!.split(' ').slice(0, -1)
      for (const file of files) await cp(join(context, file), join(folder, file), { recursive: true })
    } else if (instruction === 'RUN') {
      // The folder belongs to the user who runs this; there is no user `node`.
      const command = inImage(rest!).replace(/ && chown node:node \S+/, '')
      await run('sh', ['-c', command], { cwd: folder, env: container.env })
    } else if (instruction === 'CMD') container.command = JSON.parse(rest!).join(' ')
    else if (instruction === 'HEALTHCHECK') container.healthcheck = rest!.replace(/^.*? CMD /, '')
    else if (!['FROM', 'VOLUME', 'EXPOSE', 'USER'].includes(instruction!)) throw new Error(`what is '${line}'?`)
  }
  return container
}

async function answerAt(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'helper', message: 'Hi' })
  const sent = await fetch(`${url}/conversations/c1/messages`, { method: 'POST', headers, body })
  const { turnId } = (await sent.json()) as { turnId: string }
  const outcome = await fetch(`${url}/conversations/c1/turns/${turnId}/outcome?waitMs=20000`, { headers })
  return ((await outcome.json()) as { text: string }).text
}
