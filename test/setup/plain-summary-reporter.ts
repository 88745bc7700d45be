import type { Reporter, TestCase, TestModule } from 'vitest/node'

const stores = ['memory', 'sqlite', 'postgres'] as const

/** Ends the output of a run with lines that scripts can read: what ran on which store, then `N passed, N failed`. */
export function plainSummaryReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()])
      const count = (state: string) => tests.filter((test) => test.result().state === state).length
      const failed = count('failed') + modules.flatMap(brokenSuites).length + unhandledErrors.length
      const perStore = stores.map((store) => `${store} ${tests.filter((test) => hasRunOn(test, store)).length}`)
      process.stdout.write(`\ntests per store: ${perStore.join(', ')}\n`)
      process.stdout.write(`tests not run: ${tests.length - count('passed') - count('failed')}\n`)
      process.stdout.write(`${count('passed')} passed, ${failed} failed\n`)
    },
  }
}

/** By the name of the test and its suites, or by the folder of the adapter it is beside. */
function hasRunOn(test: TestCase, store: string): boolean {
  const hasRun = test.result().state === 'passed' || test.result().state === 'failed'
  const place = `${test.module.relativeModuleId} ${test.fullName}`.toLowerCase()
  return hasRun && new RegExp(`\\b${store}\\b`).test(place)
}

/** Files that could not be loaded, and suites whose hooks failed: nothing of them counts as a failed test. */
function brokenSuites(module: TestModule): object[] {
  return [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0)
}
