import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/mutants/provide-postgres.ts'],
    // A mutant may make a case wait for ever; a busy machine may only make it slow.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
})
