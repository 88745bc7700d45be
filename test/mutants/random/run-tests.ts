import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One run of vitest in a workspace; `vitest.config.ts` beside this reads it. */
export type TestRun = {
  readonly files: readonly string[]
  /** Only tests with these full names. Default: all of the files. */
  readonly names?: readonly string[]
  /** Whether probes are recorded; then all tests are run, else until the first that fails. */
  readonly records?: boolean
  readonly workers: number
  /** Where vitest keeps what it has transformed. */
  readonly cache: string
}

export type TestVerdict =
  | { readonly result: 'passed' }
  | { readonly result: 'failed'; readonly by: string }
  | { readonly result: 'took too long' }

/** Whatever does not end as it should counts as failed: a process that dies has noticed, too. */
export async function runTests(
  root: string,
  run: TestRun,
  { limitMs, env }: { readonly limitMs: number; readonly env: Readonly<Record<string, string>> },
): Promise<TestVerdict> {
  const report = join(root, 'report.json')
  const runFile = join(root, 'run.json')
  await rm(report, { force: true })
  await writeFile(runFile, JSON.stringify(run))
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const options = ['--config', 'test/mutants/random/vitest.config.ts', '--root', root, '--reporter=json']
  const child = spawn(process.execPath, [vitest, 'run', ...options, `--outputFile=${report}`], {
    cwd: root,
    env: { ...process.env, ...env, PERDURE_MUTANT_RUN: runFile },
    stdio: 'ignore',
    // A group of its own, so that what a bug has made hang can be ended with all its workers.
    detached: true,
  })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    endGroup(child.pid)
  }, limitMs)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  // Workers that were left behind.
  endGroup(child.pid)
  if (isLate) return { result: 'took too long' }
  return code === 0 ? { result: 'passed' } : { result: 'failed', by: await firstFailure(report) }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

type Report = {
  readonly testResults: readonly {
    readonly name: string
    readonly message?: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

async function firstFailure(path: string): Promise<string> {
  let report: Report
  try {
    report = JSON.parse(await readFile(path, 'utf8')) as Report
  } catch {
    return 'the test run died'
  }
  for (const { name, assertionResults } of report.testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed')
    if (failed) return `${fileOf(name)}: ${failed.fullName}`
  }
  const broken = report.testResults.find(({ message }) => message)
  return broken ? `${fileOf(broken.name)} could not be loaded` : 'an error outside of tests'
}

function fileOf(path: string): string {
  return path.replace(/^.*?\/((src|test)\/)/, '$1')
}
