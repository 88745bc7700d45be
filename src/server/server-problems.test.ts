import { expect, test } from 'vitest'
import { createRuntime } from '../runtime/create-runtime.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { createHandler } from './create-handler.ts'
import { serve } from './serve.ts'

const runtime = createRuntime({ agents: [], store: memoryStore(), work: false })
const authenticate = () => null

test.each([
  ['a misspelt authenticate', { autenticate: authenticate }, "unknown key 'autenticate' (known: authenticate"],
  ['an authenticate that is no function', { authenticate: 'token' }, "'authenticate' must be a function"],
  ['a misspelt limit', { limits: { bodyByte: 1 } }, "in 'limits', unknown key 'bodyByte'"],
  ['options that are none', 4111, 'it must be an object'],
])('a server with %s is refused, and the message says so', async (_, options, told) => {
  await expect(serve(runtime, options as never)).rejects.toThrow(told)
  const mounted = typeof options === 'object' ? { authenticate, ...options } : options
  expect(() => createHandler(runtime, mounted as never)).toThrow(told)
})
