import { defineConfig } from 'vitest/config'
import { perdureEntries } from './test/setup/perdure-entries.ts'
import { plainSummaryReporter } from './test/setup/plain-summary-reporter.ts'

export default defineConfig({
  // Examples import the package as its users do.
  resolve: { alias: perdureEntries() },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    // Nothing is asserted about time; a busy machine may take long.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', plainSummaryReporter()],
  },
})
