import { defineConfig } from 'vitest/config'
import { plainSummaryReporter } from './test/setup/plain-summary-reporter.ts'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    // Nothing is asserted about time; a busy machine may take long.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', plainSummaryReporter()],
  },
})
