import { defineConfig } from 'vitest/config'
import { plainSummaryReporter } from './test/setup/plain-summary-reporter.ts'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    reporters: ['default', plainSummaryReporter()],
  },
})
