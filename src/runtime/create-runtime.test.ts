import { expect, test } from 'vitest'
import { memoryStore } from '../store/memory/memory-store.ts'
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

test('a runtime that is closed listens to its store no longer', async () => {
  const store = memoryStore()
  const listening = new Set<object>()
  const onWake: typeof store.onWake = (listener) => {
    const stop = store.onWake(listener)
    listening.add(listener)
    return () => {
      listening.delete(listener)
      stop()
    }
  }
  const runtime = createRuntime({ agents: [], store: { ...store, onWake } })
  expect(listening.size).toBe(1)
  await runtime.close()
  expect(listening.size).toBe(0)
  await store.close()
})

test.each([
  [
    'a misspelt tenant',
    { agents: [], store: memoryStore(), tenat: () => 'acme' },
    "unknown key 'tenat' (known: agents",
  ],
  ['no options at all', undefined, 'it must be an object'],
  ['agents by name', { agents: ['support'], store: memoryStore() }, 'defineAgent did not return'],
  ['no agents', { store: memoryStore() }, "'agents' must be a list"],
  ['a store that is none', { agents: [], store: {} }, "'store' must be a store"],
  ['a tenant that is no function', { agents: [], store: memoryStore(), tenant: 'acme' }, "'tenant' must be a function"],
])('a runtime with %s is refused, and the message says so', (_, options, told) => {
  expect(() => createRuntime(options as never)).toThrow(told)
})
