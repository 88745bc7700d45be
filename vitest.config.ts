import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { chosenStores, leavingOut } from './test/setup/chosen-stores.ts'
import { namedTestsReporter } from './test/setup/named-tests-reporter.ts'
import { perdureEntries } from './test/setup/perdure-entries.ts'
import { plainSummaryReporter } from './test/setup/plain-summary-reporter.ts'
import { testProjects } from './test/setup/test-projects.ts'

const { testNamePattern, exclude } = leavingOut(chosenStores())

export default defineConfig({
  // Examples import the package as its users do.
  resolve: { alias: perdureEntries() },
  test: {
    projects: testProjects(exclude).map((project) => ({ extends: true, test: project })),
    ...(testNamePattern && { testNamePattern }),
    globalSetup: ['test/setup/postgres.ts'],
    // Nothing is asserted about time; a busy machine may take long.
    // Many tests wait for other processes or for a time to pass, so three run side by side even on a small machine.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // A busy CI machine gets a second try, and names each test that needed it: such a test is a bug. Elsewhere it fails at once.
    retry: process.env['CI'] ? 1 : 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // For the processes that tests start: without it, each compiles all sources again.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, '.tmp', 'compile-cache') },
    reporters: ['default', plainSummaryReporter(), namedTestsReporter()],
  },
})
