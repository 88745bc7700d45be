import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { testStore } from '../../src/testing/test-store.ts'
import { plainRunner } from './plain-runner.ts'

test('the suite runs on any test runner, and says what it skips', { timeout: 60_000 }, async () => {
  const clock = fakeClock()
  const { runner, cases, skipped } = plainRunner()
  testStore(runner, {
    create: () => memoryStore({ clock, logger: silentLogger }),
    destroy: (store) => store.close(),
    clock,
  })
  const failed: string[] = []
  for (const { name, body } of cases) await body().catch((error) => failed.push(`${name}: ${error}`))
  expect(failed).toEqual([])
  expect(cases.length).toBeGreaterThan(250)
  expect(skipped).toContain('opening again: everything that was acknowledged is there')
  expect(skipped).toContain('resolving once: of forty resolvers through two stores one wins')
  expect(skipped).toContain('model calls: a store without audit keeps no model calls')
})

test('no two cases have the same name', () => {
  const { runner, cases, skipped } = plainRunner()
  testStore(runner, { create: () => memoryStore(), destroy: (store) => store.close() })
  const names = [...cases.map(({ name }) => name), ...skipped]
  expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([])
})
