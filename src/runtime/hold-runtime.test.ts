import { afterEach, expect, test, vi } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { createRuntime } from './create-runtime.ts'
import { type HeldRuntime, holdRuntime } from './hold-runtime.ts'

const held: HeldRuntime[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const runtime of held.splice(0)) await runtime.close()
  vi.restoreAllMocks()
})

let names = 0
function hold(...[factory, options]: Parameters<typeof holdRuntime>): HeldRuntime {
  const runtime = holdRuntime(factory, { name: `test ${++names}`, ...options })
  held.push(runtime)
  return runtime
}
const runtime = () => createRuntime({ agents: [], store: memoryStore(), logger: silentLogger })

test('nothing is created before it is used, and then once, however many ask at once', async () => {
  const create = vi.fn(runtime)
  const runtimes = hold(create)
  expect(create).not.toHaveBeenCalled()
  const [one, two] = await Promise.all([runtimes.get(), runtimes.get(), runtimes.start()])
  expect(one).toBe(two)
  expect(create).toHaveBeenCalledTimes(1)
})

test('modules that are loaded several times share the runtime of a name', async () => {
  const [name, other] = ['shared', 'another']
  const first = hold(runtime, { name })
  const second = hold(runtime, { name })
  expect(await first.get()).toBe(await second.get())
  expect(await hold(runtime, { name: other }).get()).not.toBe(await first.get())
})

test('a runtime that is asked for while it is replaced is the new one', async () => {
  const first = hold(runtime, { name: 'replaced' })
  const old = await first.get()
  const asked = first.get()
  const second = hold(runtime, { name: 'replaced' })
  expect(await asked).toBe(await second.get())
  expect(await asked).not.toBe(old)
  expect(await old.readiness()).toMatchObject({ worker: 'closed' })
})

test('what belongs to the runtime is closed after it, the last one first, also when one fails', async () => {
  const told = vi.spyOn(console, 'error').mockReturnValue()
  const closed: string[] = []
  const runtimes = hold(({ onClose }) => {
    onClose(() => void closed.push('pool'))
    onClose(() => Promise.reject(new Error('no')))
    const created = runtime()
    onClose(() => void closed.push('store'))
    return { ...created, close: async (options) => created.close(options).then(() => void closed.push('runtime')) }
  })
  await runtimes.get()
  await runtimes.close()
  expect(closed).toEqual(['runtime', 'store', 'pool'])
  expect(told).toHaveBeenCalledTimes(1)
  await runtimes.close()
  expect(closed.length).toBe(3)
})

test('a factory that throws is told to the caller, leaves nothing open, and is tried again', async () => {
  let tries = 0
  const closed: number[] = []
  const runtimes = hold(({ onClose }) => {
    const attempt = ++tries
    onClose(() => void closed.push(attempt))
    if (attempt === 1) throw new Error('no database')
    return runtime()
  })
  await expect(runtimes.get()).rejects.toThrow('no database')
  expect(closed).toEqual([1])
  expect(await (await runtimes.get()).readiness()).toMatchObject({ isReady: true })
})

test('new code that cannot be created is told, and the next code works', async () => {
  const told = vi.spyOn(console, 'error').mockReturnValue()
  const name = 'broken'
  await hold(runtime, { name }).start()
  const broken = hold(() => Promise.reject(new Error('a typing error')), { name })
  await expect(broken.get()).rejects.toThrow('a typing error')
  expect(told.mock.calls[0]?.[0]).toBe('perdure: the runtime of the new code cannot be created')
  expect(await hold(runtime, { name }).get()).toBe(await broken.get())
})

test('code that is mended after an edit that could not be created works by itself, as what was before it', async () => {
  vi.spyOn(console, 'error').mockReturnValue()
  const name = 'mended'
  await hold(runtime, { name }).start()
  const broken = hold(() => Promise.reject(new Error('a typing error')), { name })
  await expect(broken.get()).rejects.toThrow('a typing error')
  const create = vi.fn(runtime)
  hold(create, { name })
  await vi.waitFor(() => expect(create).toHaveBeenCalledTimes(1))
})

test('what was closed is not created again by an edit', async () => {
  const name = 'closed'
  const first = hold(runtime, { name })
  await first.start()
  await first.close()
  const create = vi.fn(runtime)
  await hold(create, { name }).close()
  expect(create).not.toHaveBeenCalled()
})

test('a runtime that does not close holds up the next one, and that is told', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const told = vi.spyOn(console, 'warn').mockReturnValue()
  const isClosed = Promise.withResolvers<void>()
  const name = 'hanging'
  const hanging = hold(
    ({ onClose }) => {
      onClose(() => isClosed.promise)
      return runtime()
    },
    { name },
  )
  await hanging.get()
  const next = hold(runtime, { name, drainMs: 5 })
  const created = next.get()
  await vi.advanceTimersByTimeAsync(10_004)
  expect(told).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  vi.useRealTimers()
  expect(told.mock.calls.map(([message]) => message)).toEqual([
    expect.stringContaining('a held runtime has not closed after 10005 ms, and the next one waits for it'),
  ])
  isClosed.resolve()
  expect(await (await created).readiness()).toMatchObject({ isReady: true })
})

test.each([
  ['no function', () => holdRuntime({} as never), 'the first argument must be a function, as in () => createRuntime'],
  ['an empty name', () => hold(runtime, { name: '' }), "'name' must be a text"],
  ['a name that is a number', () => hold(runtime, { name: 7 as never }), "'name' must be a text"],
  ['drainMs below zero', () => hold(runtime, { drainMs: -1 }), "'drainMs' must be a whole number"],
  ['options that are none', () => holdRuntime(runtime, 'story' as never), 'must be an object'],
])('%s is refused, and the message says so', (_, call, message) => {
  expect(call).toThrow(message)
})

test('a factory that returns no runtime is refused', async () => {
  await expect(hold((() => ({})) as never).get()).rejects.toThrow('must return what createRuntime returns')
  await expect(hold(runtime).close({ drainMs: Number.NaN })).rejects.toThrow("'drainMs' must be a whole number")
})
