import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Case } from './mutant.ts'

export type CaseResult = Case & {
  readonly status: 'passed' | 'failed' | 'missing'
  /** What the runner says of a failed one. */
  readonly message: string
}

/** Runs only the named cases in a workspace. A case that was not run, also because its file could not be loaded, is `missing`. */
export async function runCases(root: string, cases: readonly Case[], postgresUrl: string): Promise<CaseResult[]> {
  const report = join(root, 'report.json')
  await rm(report, { force: true })
  const files = [...new Set(cases.map(({ file }) => file))]
  const pattern = cases.map(({ test }) => test.replaceAll(/[^\w ]/g, '\\$&')).join('|')
  const options = ['--config', 'test/mutants/vitest.config.ts', '--root', root, '--reporter=json']
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', ...files, '-t', pattern, ...options, `--outputFile=${report}`],
    {
      cwd: root,
      env: { ...process.env, PERDURE_MUTANTS_POSTGRES: postgresUrl },
      stdio: 'ignore',
    },
  )
  await once(child, 'exit')
  const results = await readReport(report)
  return cases.map((one) => ({ ...one, ...outcomeOf(results, one) }))
}

type Report = {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly {
      readonly title: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

async function readReport(path: string): Promise<Report> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Report
  } catch {
    return { testResults: [] }
  }
}

function outcomeOf({ testResults }: Report, { file, test }: Case): Pick<CaseResult, 'status' | 'message'> {
  const runs = testResults
    .filter(({ name }) => name.endsWith(file))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ title }) => title === test)
  const failed = runs.find(({ status }) => status === 'failed')
  if (failed) return { status: 'failed', message: failed.failureMessages?.[0] ?? '' }
  return { status: runs.some(({ status }) => status === 'passed') ? 'passed' : 'missing', message: '' }
}
