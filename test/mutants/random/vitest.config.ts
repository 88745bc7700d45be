import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { perdureEntries } from '../../setup/perdure-entries.ts'
import type { TestRun } from './run-tests.ts'

const run: TestRun = JSON.parse(readFileSync(process.env['PERDURE_MUTANT_RUN']!, 'utf8'))

export default defineConfig({
  resolve: { alias: perdureEntries() },
  test: {
    include: [...run.files],
    globalSetup: ['test/mutants/provide-postgres.ts'],
    setupFiles: run.records ? ['test/mutants/random/record-probes.ts'] : [],
    ...(run.names ? { testNamePattern: new RegExp(`^(?:${run.names.map(escaped).join('|')})$`) } : {}),
    bail: run.records ? 0 : 1,
    // A test that a busy machine has made fail is given another chance; one that found the bug finds it again.
    retry: 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: run.workers,
    fileParallelism: run.workers > 1,
    fsModuleCache: true,
    fsModuleCachePath: run.cache,
  },
})

function escaped(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
