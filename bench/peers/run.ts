/**
 * `npm run bench -- peers [--quick] [--rounds 3] [--only perdure-sqlite,raw-sqlite] [--tarball perdure.tgz]`: packs this package, installs it beside its peers in a folder of
 * its own, and lets all of them play the same turns. Prints the tables, and writes `bench/results/peers.json`, `docs/benchmarks.md` and its chart.
 */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { packPerdure, removeFolder, withDependencies } from '../../test/product/app-copy.ts'
import { type RunningPostgres, startPostgres } from '../../test/setup/start-postgres.ts'
import { chart } from './chart.ts'
import { tables, withTables } from './report.ts'
import type { PeersResults } from './results.ts'
import { type PeerSubject, peerSubjects } from './subjects.ts'
import { type Ground, measureImports, playRound, Samples } from './workloads.ts'

const root = join(import.meta.dirname, '..', '..')
const forms = {
  full: { lengths: [1, 10, 100, 500], rounds: 3, imports: 5 },
  quick: { lengths: [1, 10, 100], rounds: 1, imports: 1 },
} as const
/** Whose version is told. */
const packages = [
  ...['perdure', '@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite'],
  ...['@langchain/langgraph-checkpoint-postgres', 'better-sqlite3', '@mastra/core', '@mastra/memory', '@mastra/libsql'],
  ...['@mastra/pg', '@dbos-inc/dbos-sdk', '@openai/agents-core', 'ai', 'pg'],
]

export async function benchPeers(args: readonly string[]): Promise<void> {
  const option = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
  const form = args.includes('--quick') ? 'quick' : 'full'
  const only = option('--only')?.split(',')
  const subjects = peerSubjects.filter(({ id }) => only?.includes(id) ?? true)
  const folder = await mkdtemp(join(tmpdir(), 'perdure-peers-'))
  const app = join(folder, 'app')
  await cp(join(import.meta.dirname, 'app'), app, { recursive: true })
  await withDependencies(app, option('--tarball') ?? (await packPerdure(folder)))
  const server = await startPostgres()
  try {
    const rounds = Number(option('--rounds') ?? forms[form].rounds)
    const results = await measure(form, { ...forms[form], rounds }, subjects, { app, folder, server })
    console.log(tables(results))
    if (only || form === 'quick') return
    await writeFile(join(root, 'bench', 'results', 'peers.json'), `${JSON.stringify(results, null, 2)}\n`)
    await writeReport(results)
  } finally {
    await server.destroy()
    await removeFolder(folder)
  }
}

async function writeReport(results: PeersResults): Promise<void> {
  const page = join(root, 'docs', 'benchmarks.md')
  await writeFile(page, withTables(await readFile(page, 'utf8'), results))
  await writeFile(join(root, 'docs', 'images', 'benchmarks.svg'), chart(results))
}

async function measure(
  form: keyof typeof forms,
  { lengths, rounds, imports }: { lengths: readonly number[]; rounds: number; imports: number },
  subjects: readonly PeerSubject[],
  { app, folder, server }: { app: string; folder: string; server: RunningPostgres },
): Promise<PeersResults> {
  const start = performance.now()
  const load = loadavg()[0]!
  const admin = new pg.Client(server.url)
  await admin.connect()
  const ground: Ground = {
    app,
    folder,
    async createDatabase(name) {
      await admin.query(`CREATE DATABASE "${name}"`)
      return server.url.replace(/\/postgres$/, `/${name}`)
    },
    bytesOfDatabase,
  }
  const samples = new Samples()
  for (let round = 0; round < rounds; round++) {
    await playRound(ground, subjects, { round, lengths, samples })
    console.log(`round ${round + 1} of ${rounds}: ${((performance.now() - start) / 60_000).toFixed(1)} minutes`)
  }
  await measureImports(app, subjects, imports, samples)
  const postgres = await settingsOf(admin)
  await admin.end()
  return {
    form,
    day: new Date().toISOString().slice(0, 10),
    minutes: Number(((performance.now() - start) / 60_000).toFixed(1)),
    machine: {
      processor: cpus()[0]?.model ?? 'unknown',
      processors: cpus().length,
      memoryGb: Math.round(totalmem() / 1e9),
      system: `${type()} ${release().split('-')[0]}`,
      node: process.version,
      postgres: postgres['server_version'] ?? '',
      load: [load, loadavg()[0]!],
    },
    versions: await versionsIn(app),
    postgresSettings: postgres,
    lengths,
    rounds,
    subjects: subjects.map((subject) => {
      const { id, label, store } = subject
      const failure = samples.failures.get(id)
      return {
        id,
        label,
        store,
        settings: samples.settings.get(id) ?? {},
        ...(failure !== undefined && { notRun: failure }),
        figures: samples.figuresOf(subject),
      }
    }),
  }
}

async function settingsOf(client: pg.Client): Promise<Record<string, string>> {
  const names = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method']
  const settings: Record<string, string> = {}
  for (const name of names) settings[name] = String((await client.query(`SHOW ${name}`)).rows[0][name])
  return settings
}

async function bytesOfDatabase(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relkind = 'r'`,
  )
  await client.end()
  return Number(rows[0].bytes)
}

async function versionsIn(app: string): Promise<Record<string, string>> {
  const versionOf = async (name: string) => {
    const text = await readFile(join(app, 'node_modules', name, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  }
  return Object.fromEntries(await Promise.all(packages.map(async (name) => [name, await versionOf(name)])))
}
