import { expect, test } from 'vitest'
import { memoryStore } from '../store/memory/memory-store.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { steeringVerbs } from './steer.ts'

test('a process learns of its own drain and its end at once, and reports early for no other node', async () => {
  const store = memoryStore()
  const hurried: string[] = []
  let of = ''
  const context = { node: { store, holder: 'here', pauses: null }, assertOpen() {} } as unknown as RuntimeContext
  const verbs = steeringVerbs(context, { hurry: async () => void hurried.push(of) })
  for (const step of ['here', 'elsewhere']) {
    of = step
    await verbs.drain(of)
    await verbs.undrain(of)
  }
  expect(hurried).toEqual(['here', 'here'])
  await store.close()
})
