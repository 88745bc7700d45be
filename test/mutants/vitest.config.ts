import { defineConfig } from 'vitest/config'
import { perdureEntries } from '../setup/perdure-entries.ts'

/** Cases of the studio need its page, built from the broken sources. */
const ofStudio = process.argv.some((argument) => argument.startsWith('test/studio/'))

export default defineConfig({
  resolve: { alias: perdureEntries() },
  test: {
    include: ['src/**/*.test.ts', 'studio/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/mutants/provide-postgres.ts', ...(ofStudio ? ['test/setup/studio.ts'] : [])],
    // A mutant may make a case wait for ever; a busy machine may only make it slow.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
})
