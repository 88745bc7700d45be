import { expect, test } from 'vitest'
import { processLiveBus } from './live-bus.ts'

test('links of a bus within a process have names of the form that every bus gives, and none twice', () => {
  const bus = processLiveBus()
  const names = Array.from({ length: 20 }, () => bus.join({ connected() {}, message() {} }).name)
  for (const name of names) expect(name).toMatch(/^[0-9a-f]{16}$/)
  expect(new Set(names).size).toBe(20)
})
