import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Running, repository, startPerdure } from '../cli/perdure.ts'

export type ServedStore = {
  readonly url: string
  readonly running: Running
  /** The options that lead a command to it over the server, and directly. */
  readonly ways: { readonly server: readonly string[]; readonly store: readonly string[] }
  /** Returns what it said on stderr, where it tells of failures. */
  kill(): Promise<string>
}

/** `perdure serve` of a store, in a process of its own. Its agents are none that the stores of these tests have work for. */
export async function serveStore(
  folder: string,
  store: string,
  { server = '{ port: 0 }', env = {} }: { readonly server?: string; readonly env?: Record<string, string> } = {},
): Promise<ServedStore> {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'perdure.config.ts')
  const tokenFile = join(folder, '.perdure', 'server.json')
  if (existsSync(tokenFile)) rmSync(tokenFile)
  const agents = `import { agents, flows } from '${repository}/test/cli/agents.ts'`
  writeFileSync(
    config,
    `${agents}\nexport default { agents, flows, store: ${JSON.stringify(store)}, server: ${server} }`,
  )
  const running = startPerdure(['serve', '--json'], { cwd: folder, env })
  let told = ''
  running.process.stdout.on('data', (text: string) => {
    told += text
  })
  await running.until('\n')
  const { url } = JSON.parse(told)
  return {
    url,
    running,
    ways: { server: ['--url', url, '--token-file', tokenFile], store: ['--store', store, '--config', config] },
    async kill() {
      running.process.kill('SIGKILL')
      return (await running.ended).stderr
    },
  }
}
