import { expect, test, vi } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/logger.ts'
import { type Hook, halt, postHook, preHook } from '../../define/create-hook.ts'
import { createScope } from '../../define/scope.ts'
import { createTurn, inject, type Turn } from '../../define/turn.ts'
import type { UserPart } from '../../log/events.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { type PreHookOptions, runPreHooks } from './run-hooks.ts'

const turn = createTurn({ scope: createScope({ user: 'ada' }), turnRef: 'turn:0' })
const forever = new Promise<never>(() => {})

function run(hooks: readonly Hook[], options: Partial<PreHookOptions> = {}, on: Turn = turn) {
  return runPreHooks(hooks, on, {
    hookTimeoutMs: 60_000,
    injectionReserve: 100,
    countTokens: (parts) => texts(parts).join('').length,
    durableInjections: new Map(),
    earlier: { hooks: new Set(), tokens: 0 },
    shapeProblem: () => null,
    onDurable: async () => {},
    logger: silentLogger,
    clock: systemClock,
    ...options,
  })
}

function texts(parts: readonly UserPart[]): string[] {
  return parts.map((part) => (part.type === 'text' ? part.text : part.mediaType))
}

async function injected(hooks: readonly Hook[], options: Partial<PreHookOptions> = {}): Promise<string[]> {
  const outcome = await run(hooks, options)
  return outcome.type === 'go' ? texts(outcome.turn.injections) : [outcome.reason]
}

const text = (value: string): UserPart => ({ type: 'text', text: value })
const adding = (name: string) => preHook(name, (current) => inject(current, name))
const parallel = (name: string, answer: () => unknown) => preHook(name, answer as never, { mode: 'parallel' })

test('without hooks the turn goes on as it is', async () => {
  expect(await run([])).toEqual({ type: 'go', turn, injections: [], shaped: [] })
})

test('no hook runs for a turn that has been called off', async () => {
  const ran = vi.fn()
  const calledOff = { ...turn, signal: AbortSignal.abort(new Error('cancelled')) } as Turn
  await expect(run([preHook('late', ran)], {}, calledOff)).rejects.toThrow('cancelled')
  await run([parallel('beside', ran)], {}, calledOff).catch(() => {})
  expect(ran).not.toHaveBeenCalled()
})

test('sequential hooks run in order and see what was added before', async () => {
  const seen: string[][] = []
  const looking = preHook('b', (current) => void seen.push(texts(current.injections)))
  expect(await injected([adding('a'), looking, adding('c')])).toEqual(['a', 'c'])
  expect(seen).toEqual([['a']])
})

test('a hook before the model call cannot show a message with its halt', async () => {
  const shows = preHook('shows', () => halt('closed', { show: true }))
  await expect(run([shows])).rejects.toThrow("The hook 'shows' returned halt(reason, { show })")
})

test('what each hook added is told by its name', async () => {
  expect(await run([adding('a'), preHook('b', () => undefined), parallel('c', () => 'x')])).toMatchObject({
    injections: [
      { hook: 'a', parts: [text('a')], durable: false },
      { hook: 'c', parts: [text('x')], durable: false },
    ],
  })
})

test('a halt ends the pipeline and names its hook', async () => {
  const later = vi.fn()
  const outcome = await run([adding('a'), preHook('guard', () => halt('closed')), preHook('later', later)])
  expect(outcome).toEqual({ type: 'halt', reason: 'closed', hook: 'guard' })
  expect(later).not.toHaveBeenCalled()
})

test('post-hooks are not run before the model', async () => {
  expect(await injected([postHook('post', () => halt('no')), adding('a')])).toEqual(['a'])
})

test('a sequential hook that throws is an error that names it', async () => {
  const cause = new Error('no database')
  const hooks = [preHook('lookup', () => Promise.reject(cause))]
  await expect(run(hooks)).rejects.toMatchObject({ code: 'hook_failed', hook: 'lookup', cause })
  await expect(run(hooks)).rejects.toThrow(/'lookup' threw Error: no database/)
})

test('a sequential hook that throws undefined is an error that names it', async () => {
  const hook = preHook('odd', () => {
    throw undefined
  })
  await expect(run([hook])).rejects.toThrow(/'odd' threw undefined/)
})

test('a sequential hook past its time is an error, and its signal is aborted', async () => {
  const clock = fakeClock()
  let signal: AbortSignal | undefined
  const slow = preHook('slow', (current) => {
    signal = current.signal
    return forever
  })
  const outcome = run([slow], { clock, hookTimeoutMs: 5_000 })
  const refused = expect(outcome).rejects.toThrow(/'slow' took longer than 5000 ms/)
  await clock.advance(4_999)
  expect(signal?.aborted).toBe(false)
  await clock.advance(1)
  await refused
  expect(signal?.aborted).toBe(true)
})

test.each([[7], ['text'], [[text('a')]], [{}], [{ type: 'halt' }], [{ ...turn }], [true]])(
  'a sequential hook that returns %j is an error',
  async (returned) => {
    await expect(run([preHook('odd', () => returned as never)])).rejects.toMatchObject({
      code: 'hook_failed',
      hook: 'odd',
    })
  },
)

test('a hook cannot take away what earlier hooks added', async () => {
  const hooks = [adding('a'), preHook('greedy', () => turn)]
  await expect(run(hooks)).rejects.toThrow(/'greedy' returned a turn without the injections of earlier hooks/)
})

test('a hook cannot change who acts', async () => {
  const sly = preHook('sly', () => createTurn({ scope: createScope({ user: 'eve' }) }))
  await expect(run([sly])).rejects.toThrow(/'sly' changed 'scope' of the turn/)
})

test('parallel neighbours run together and are merged in the order they were declared', async () => {
  let release = (): void => {}
  const second = new Promise<void>((resolve) => {
    release = resolve
  })
  const hooks = [
    parallel('a', async () => {
      await second
      return 'a'
    }),
    parallel('b', () => {
      release()
      return [text('b1'), text('b2')]
    }),
    adding('c'),
  ]
  expect(await injected(hooks)).toEqual(['a', 'b1', 'b2', 'c'])
})

test('parallel hooks after a sequential one see what it added', async () => {
  const seen: string[][] = []
  const look = preHook('look', (current) => void seen.push(texts(current.injections)), { mode: 'parallel' })
  await run([adding('a'), look])
  expect(seen).toEqual([['a']])
})

test('a parallel hook that throws is skipped and logged', async () => {
  const warn = vi.fn()
  const hooks = [parallel('throws', () => Promise.reject(new Error('down'))), parallel('works', () => 'here')]
  expect(await injected(hooks, { logger: { ...silentLogger, warn } })).toEqual(['here'])
  expect(warn.mock.calls.map(([, details]) => details.hook)).toEqual(['throws'])
})

test.each([
  ['a turn', (current: Turn) => inject(current, 'x'), 'runs in parallel and returned a turn; return the parts'],
  ['a halt', () => halt('stop'), 'runs in parallel and returned halt(reason); return the parts'],
  ['a number', () => 7, 'is not text or parts of a message'],
])('a parallel hook that returns %s is an error that names it, whatever else was added', async (_, answer, problem) => {
  const odd = preHook('odd', answer as never, { mode: 'parallel' })
  const outcome = run([adding('a'), odd, parallel('works', () => 'here')])
  await expect(outcome).rejects.toMatchObject({ code: 'hook_failed', message: expect.stringContaining(problem) })
  await expect(outcome).rejects.toThrow("The hook 'odd'")
})

test('a parallel hook past its time is skipped, and what it returns late is ignored', async () => {
  const clock = fakeClock()
  let answer = (_: string): void => {}
  const slow = parallel('slow', () => new Promise((resolve) => (answer = resolve)))
  const outcome = injected([slow, parallel('fast', () => 'fast')], { clock })
  await clock.advance(60_000)
  expect(await outcome).toEqual(['fast'])
  answer('late')
})

test('injections over the reserve are an error that names the hook that passed it', async () => {
  const options = { injectionReserve: 3 }
  expect(await injected([adding('a'), adding('bb')], options)).toEqual(['a', 'bb'])
  await expect(run([adding('aa'), adding('bb')], options)).rejects.toMatchObject({
    code: 'injection_overflow',
    hook: 'bb',
    message: expect.stringMatching(/have 4 tokens; 'injectionReserve' allows 3/),
  })
})

test('a parallel hook over the reserve is an error too, not skipped', async () => {
  const hooks = [parallel('a', () => 'aa'), parallel('b', () => 'bb')]
  await expect(run(hooks, { injectionReserve: 3 })).rejects.toMatchObject({ code: 'injection_overflow', hook: 'b' })
})

test('what a durable hook adds is kept before the next hook runs, also when it is nothing', async () => {
  const order: string[] = []
  const hooks = [
    preHook('a', (current) => inject(current, 'fact'), { durable: true }),
    preHook('b', () => void order.push('b ran'), { durable: true }),
  ]
  const onDurable = async (hook: string, parts: readonly UserPart[]) => {
    await Promise.resolve()
    order.push(`${hook} kept ${texts(parts)}`)
  }
  expect(await run(hooks, { onDurable })).toMatchObject({ injections: [{ hook: 'a', durable: true }] })
  expect(order).toEqual(['a kept fact', 'b ran', 'b kept '])
})

test('a durable hook that is in the log is not run again', async () => {
  const body = vi.fn(() => halt('again'))
  const onDurable = vi.fn()
  const durableInjections = new Map([['a', [text('from the log')]]])
  const hooks = [preHook('a', body, { durable: true })]
  expect(await injected(hooks, { durableInjections, onDurable })).toEqual(['from the log'])
  expect(body).not.toHaveBeenCalled()
  expect(onDurable).not.toHaveBeenCalled()
})

test('a durable hook that added nothing is not run again either', async () => {
  const body = vi.fn(() => halt('again'))
  expect(await injected([preHook('a', body, { durable: true })], { durableInjections: new Map([['a', []]]) })).toEqual(
    [],
  )
  expect(body).not.toHaveBeenCalled()
})

test('what is in the log under the name of a hook that is not durable is not taken for its answer', async () => {
  expect(await injected([adding('a')], { durableInjections: new Map([['a', [text('old')]]]) })).toEqual(['a'])
})

test('a durable parallel hook that failed is not kept, so that it may try again', async () => {
  const onDurable = vi.fn()
  const failing = preHook('a', () => Promise.reject<string>(new Error('down')), { mode: 'parallel', durable: true })
  expect(await injected([failing], { onDurable })).toEqual([])
  expect(onDurable).not.toHaveBeenCalled()
})

test('a durable hook over the reserve is not kept', async () => {
  const onDurable = vi.fn()
  const hooks = [preHook('a', (current) => inject(current, 'long'), { durable: true })]
  await expect(run(hooks, { onDurable, injectionReserve: 3 })).rejects.toMatchObject({ code: 'injection_overflow' })
  expect(onDurable).not.toHaveBeenCalled()
})

test('a cancelled turn does not wait for its hooks', async () => {
  for (const hook of [preHook('a', () => forever), parallel('b', () => forever)]) {
    const controller = new AbortController()
    const cancelled = createTurn({ ...turn, signal: controller.signal })
    const outcome = run([hook], {}, cancelled)
    const refused = expect(outcome).rejects.toThrow('stop')
    controller.abort(new Error('stop'))
    await refused
  }
})

test('a hook that throws what cannot be shown still says which hook it was', async () => {
  const unshowable = {
    toString: () => {
      throw new Error('no')
    },
  }
  const throwing = preHook('odd', () => {
    throw unshowable
  })
  await expect(run([throwing])).rejects.toThrow(/odd.*threw something that cannot be shown/)
})
