import { expect, test } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { createRuntime } from './create-runtime.ts'

test.each([
  ['leaseMs', 0],
  ['pollMs', Number.NaN],
  ['persistTimeoutMs', -1],
  ['maxConcurrentTurns', 0.5],
] as const)('a runtime with %s of %s is refused, and the message names it', (name, value) => {
  expect(() => createRuntime({ agents: [], store: memoryStore(), [name]: value })).toThrow(
    `'${name}' must be a whole number`,
  )
})
