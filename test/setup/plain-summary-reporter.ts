import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { isOn, storeNames } from './chosen-stores.ts'

/** Ends the output of a run with lines that scripts can read: what ran on which store, then `N passed, N failed`. */
export function plainSummaryReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()].map(toldTest))
      const broken = modules.flatMap(brokenSuites).length + unhandledErrors.length
      process.stdout.write(`\n${summaryLines(tests, broken).join('\n')}\n`)
    },
  }
}

/** `isFlaky`: it failed, and passed when it was repeated. */
export type ToldTest = {
  readonly state: string
  readonly file: string
  readonly name: string
  readonly isFlaky?: boolean
}

/** `broken`: what failed without being a test. */
export function summaryLines(tests: readonly ToldTest[], broken: number): string[] {
  const count = (state: string): number => tests.filter((test) => test.state === state).length
  const ran = tests.filter((test) => test.state === 'passed' || test.state === 'failed')
  const perStore = storeNames.map((store) => `${store} ${ran.filter((test) => isOn(test, store)).length}`)
  const others = ran.filter((test) => !storeNames.some((store) => isOn(test, store))).length
  const flaky = tests.filter((test) => test.isFlaky).map(({ file, name }) => `  ${file} > ${name}`)
  return [
    ...(flaky.length > 0 ? [`tests that passed only when repeated: ${flaky.length}`, ...flaky] : []),
    `tests per store: ${perStore.join(', ')}; ${others} others need no store, or do not name theirs`,
    `tests not run: ${tests.length - ran.length}`,
    `${count('passed')} passed, ${count('failed') + broken} failed`,
  ]
}

function toldTest(test: TestCase): ToldTest {
  const isFlaky = test.diagnostic()?.flaky ?? false
  return { state: test.result().state, file: test.module.relativeModuleId, name: test.fullName, isFlaky }
}

/** Files that could not be loaded, and suites whose hooks failed: nothing of them counts as a failed test. */
function brokenSuites(module: TestModule): object[] {
  return [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0)
}
