/** A process that keeps vitest warm in a workspace, and runs what its parent asks for, one after the other. */
import { join } from 'node:path'
import { createVitest, type TestModule, type Vitest } from 'vitest/node'
import { perdureEntries } from '../../setup/perdure-entries.ts'
import type { HostAnswer, HostOptions, HostRequest } from './test-runner.ts'

const { root, records } = JSON.parse(process.argv[2]!) as HostOptions
const vitest = await createVitest(
  'test',
  {
    root,
    config: false,
    watch: false,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: records ? ['test/mutants/random/record-probes.ts'] : [],
    reporters: [{}],
    bail: records ? 0 : 1,
    hookTimeout: 60_000,
    maxWorkers: 1,
    fileParallelism: false,
    // A bug that takes all memory ends its own process and no other.
    execArgv: ['--max-old-space-size=2048'],
  },
  { resolve: { alias: perdureEntries() } },
)
await vitest.standalone()
process.on('message', async (request: HostRequest) => process.send?.(await run(vitest, request)))
process.once('disconnect', () => process.exit())
process.send?.('ready')

async function run(
  vitest: Vitest,
  { file, names, changed, testTimeoutMs, postgresUrl }: HostRequest,
): Promise<HostAnswer> {
  const project = vitest.getRootProject()
  for (const path of changed) vitest.invalidateFile(join(root, path))
  // Failures of earlier runs would count for `bail`.
  vitest.state.filesMap.clear()
  vitest.state.idMap.clear()
  project.config.testTimeout = testTimeoutMs
  project.provide('postgresUrl', postgresUrl)
  if (names) vitest.setGlobalTestNamePattern(new RegExp(`^(?:${names.map(patternOf).join('|')})$`))
  else vitest.resetGlobalTestNamePattern()
  const startedAt = performance.now()
  const specification = project.createSpecification(join(root, file))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification])
  return { ...outcomeOf(testModules, unhandledErrors), ms: Math.round(performance.now() - startedAt) }
}

function outcomeOf(modules: readonly TestModule[], unhandled: readonly unknown[]): Omit<HostAnswer, 'ms'> {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const failed = tests.find((test) => test.result().state === 'failed')
  const ran = tests.filter((test) => test.result().state === 'passed').length
  if (failed) {
    const error = failed.result().errors?.[0]
    const isAssertion = error?.name === 'AssertionError'
    return { result: 'failed', test: nameOf(failed.fullName), ran, isAssertion, why: textOf(error) }
  }
  const broken = modules.find((module) => module.state() === 'failed' || module.errors().length > 0)
  if (broken) return { result: 'died', test: null, ran, why: textOf(broken.errors()[0] ?? 'a hook failed') }
  if (unhandled.length > 0) return { result: 'died', test: null, ran, why: textOf(unhandled[0]) }
  if (ran === 0) return { result: 'died', test: null, ran, why: 'none of these tests is there' }
  return { result: 'passed', test: null, ran, why: '' }
}

/** As it was recorded: the names around a test and its own, with a blank between them. */
function nameOf(fullName: string): string {
  return fullName.replaceAll(' > ', ' ')
}

/** Vitest puts ` > ` between the names around a test. */
function patternOf(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&').replaceAll(' ', '(?: |(?: > )+)')
}

function textOf(error: unknown): string {
  const text = error instanceof Object && 'message' in error ? String(error.message) : String(error)
  return text.split('\n')[0]!.slice(0, 200)
}
