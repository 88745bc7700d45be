import { expect, test, vi } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { type Hook, halt, postHook, preHook, regenerate } from '../../define/create-hook.ts'
import { systemScope } from '../../define/scope.ts'
import { shape } from '../../define/shape.ts'
import { createTurn, type FinalMessage, inject, type Turn } from '../../define/turn.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { runPostHooks } from './run-hooks.ts'

const assistantMessage: FinalMessage = {
  messageId: 'm1',
  parts: [{ type: 'text', text: 'hi' }],
  text: 'hi',
  calls: [],
  model: { provider: 'p', modelId: 'm' },
  usage: {},
  finishReason: 'stop',
}
const turn = createTurn({ scope: systemScope(), assistantMessage })
const run = (hooks: readonly Hook[], clock = systemClock) => runPostHooks(hooks, turn, { hookTimeoutMs: 60_000, clock })

test('hooks that return nothing, or the turn, keep the message', async () => {
  expect(await run([postHook('a', () => undefined), postHook('b', ((t: unknown) => t) as never)])).toEqual({
    type: 'keep',
  })
})

test('a post-hook sees the finished message and cannot change it', async () => {
  const seen: unknown[] = []
  const meddling = postHook('a', ({ assistantMessage: message }) => {
    seen.push(message?.text)
    Object.assign(message!, { text: 'bye' })
  })
  await expect(run([meddling])).rejects.toMatchObject({ code: 'hook_failed', hook: 'a' })
  expect(seen).toEqual(['hi'])
})

test('the first verdict wins', async () => {
  const last = vi.fn()
  const hooks = [
    preHook('pre', () => halt('not now')),
    postHook('a', async () => undefined),
    postHook('b', async () => regenerate('shorter')),
    postHook('c', () => halt('bad')),
    postHook('d', last),
  ]
  expect(await run(hooks)).toEqual({ type: 'regenerate', feedback: 'shorter', hook: 'b' })
  expect(last).not.toHaveBeenCalled()
})

test('a halt carries its reason, its hook and whether the message may be shown', async () => {
  const halted = { type: 'halt', reason: 'unsafe', hook: 'guard' }
  const outcomes = [
    [halt('unsafe'), false],
    [halt('unsafe', { show: false }), false],
    [halt('unsafe', { show: true }), true],
    [{ type: 'halt', reason: 'unsafe', show: 'yes' } as never, false],
  ] as const
  for (const [verdict, isShown] of outcomes) {
    expect(await run([postHook('guard', () => verdict)])).toEqual({ ...halted, isShown })
  }
})

test('a post-hook that throws is an error that names it', async () => {
  const failing = postHook('log', () => {
    throw new Error('disk full')
  })
  await expect(run([failing])).rejects.toThrow(/'log' threw Error: disk full/)
})

test.each([[7], ['no'], [{ type: 'regenerate' }], [false], [[]]])(
  'a post-hook that returns %j is an error',
  async (value) => {
    await expect(run([postHook('odd', () => value as never)])).rejects.toThrow(/'odd' must return nothing, halt/)
  },
)

test('a post-hook past its time is an error', async () => {
  const clock = fakeClock()
  const outcome = run([postHook('slow', () => new Promise<never>(() => {}))], clock)
  const refused = expect(outcome).rejects.toThrow(/'slow' took longer than 60000 ms/)
  await clock.advance(60_000)
  await refused
})

test('a halt with a result is for tools: a hook that returns one fails', async () => {
  const odd = () => halt('no', { result: 1 }) as never
  await expect(run([postHook('odd', odd)])).rejects.toThrow(/'odd' returned halt\(reason, { result }\)/)
})

test('a post-hook that injects, shapes or changes the turn is too late, and fails', async () => {
  const late = /'late' injected into or shaped a call that is over/
  await expect(run([postHook('late', ((t: Turn) => inject(t, 'more')) as never)])).rejects.toThrow(late)
  await expect(run([postHook('late', ((t: Turn) => shape(t, { tools: [] })) as never)])).rejects.toThrow(late)
  const sly = postHook('sly', ((t: Turn) => createTurn({ ...t, assistantMessage: null })) as never)
  await expect(run([sly])).rejects.toThrow(/'sly' changed 'assistantMessage' of the turn/)
})

test('what cannot be read of what a hook returned is an error of that hook', async () => {
  const get = (_: object, name: string | symbol) => {
    if (name === 'then') return undefined
    throw new TypeError('hostile')
  }
  const hook = postHook('odd', () => new Proxy({}, { get }) as never)
  await expect(run([hook])).rejects.toMatchObject({ code: 'hook_failed', hook: 'odd' })
})
