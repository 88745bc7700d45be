import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../base/clock.ts'
import { halt } from '../../define/create-hook.ts'
import { defineTool } from '../../define/define-tool.ts'
import { createScope } from '../../define/scope.ts'
import { createTurn, type Turn } from '../../define/turn.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { type RunToolOptions, runTool } from './tool-task.ts'

const reportProgress = vi.fn()
const turn = createTurn({ scope: createScope({ user: 'ada' }), callId: 'c1', reportProgress })
const input = z.object({ n: z.coerce.number().default(1) })

function toolOf(run: (args: { n: number }, turn: Turn) => unknown, schema = input) {
  return defineTool({ name: 'work', description: 'Work', input: schema, run })
}

function execute(tool: ReturnType<typeof toolOf>, options: Partial<RunToolOptions> = {}, args = {}) {
  const { signal } = new AbortController()
  return runTool(tool, args, turn, { timeoutMs: null, signal, clock: systemClock, ...options })
}

test('a tool gets checked arguments, the scope and its call', async () => {
  const result = await execute(
    toolOf((args, { scope, callId }) => ({ args, user: scope.user, callId })),
    {},
    { n: '5' },
  )
  expect(result).toEqual({ ok: true, result: { args: { n: 5 }, user: 'ada', callId: 'c1' } })
})

test('a tool that returns nothing has the result null', async () => {
  expect(await execute(toolOf(async () => {}))).toEqual({ ok: true, result: null })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no funds')
    },
    'no funds',
  ],
  ['rejects', () => Promise.reject(new Error('no funds')), 'no funds'],
  [
    'throws undefined',
    () => {
      throw undefined
    },
    'it threw undefined',
  ],
  ['rejects with a string', () => Promise.reject('no funds'), 'no funds'],
  ['rejects with null', () => Promise.reject(null), 'it threw null'],
])('a tool that %s has an error the model can read', async (_, run, error) => {
  expect(await execute(toolOf(run))).toEqual({ ok: false, error })
})

test('a long error is cut', async () => {
  const result = await execute(toolOf(() => Promise.reject(new Error('x'.repeat(1_000_000)))))
  expect(result).toMatchObject({ ok: false })
  expect((result as { error: string }).error.length).toBeLessThanOrEqual(32_768)
})

test('a result that cannot be recorded is told as run', async () => {
  expect(await execute(toolOf(() => new Map()))).toMatchObject({ ok: false, outcome: 'ran' })
  expect(await execute(toolOf(() => 'x'.repeat(2_000_000)))).toMatchObject({ ok: false, outcome: 'ran' })
})

test('arguments that no longer fit the schema do not reach the tool', async () => {
  const run = vi.fn()
  expect(await execute(toolOf(run), {}, { n: 'many' })).toMatchObject({
    ok: false,
    error: expect.stringMatching(/^invalid arguments for 'work': n: /),
  })
  expect(run).not.toHaveBeenCalled()
})

test('a tool past its time has an unknown outcome, its signal is aborted, and what it returns late is ignored', async () => {
  const clock = fakeClock()
  let finish = (_: string): void => {}
  let seen: Turn | undefined
  const tool = toolOf((_, toolTurn) => {
    seen = toolTurn
    return new Promise((resolve) => {
      finish = resolve
    })
  })
  const result = execute(tool, { clock, timeoutMs: 100 })
  await clock.advance(99)
  expect(seen?.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(await result).toMatchObject({ ok: false, outcome: 'unknown', error: expect.stringMatching(/after 100 ms/) })
  expect(seen?.signal).toMatchObject({ aborted: true, reason: { name: 'TimeoutError' } })
  finish('late')
  seen?.reportProgress('late')
  expect(await result).toMatchObject({ outcome: 'unknown' })
  expect(reportProgress).not.toHaveBeenCalledWith('late')
})

test('a tool that throws because its time is over still has an unknown outcome', async () => {
  const clock = fakeClock()
  const tool = toolOf(
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  const result = execute(tool, { clock, timeoutMs: 100 })
  await clock.advance(100)
  expect(await result).toMatchObject({ outcome: 'unknown' })
})

test('time that passes before the tool was called does not make its outcome unknown, and it is not called later', async () => {
  const clock = fakeClock()
  let answer = (_: boolean): void => {}
  const slow = z.object({ n: z.number().refine(() => new Promise<boolean>((resolve) => (answer = resolve))) })
  const run = vi.fn()
  const result = execute(toolOf(run, slow as never), { clock, timeoutMs: 100 }, { n: 1 })
  await clock.advance(100)
  expect(await result).toEqual({ ok: false, error: expect.stringMatching(/it was not run/) })
  answer(true)
  await clock.advance(1)
  expect(run).not.toHaveBeenCalled()
})

test('a cancelled turn aborts the signal, and the tool still tells how it ended', async () => {
  const controller = new AbortController()
  const tool = toolOf((_, { signal }) => {
    controller.abort()
    return `aborted: ${signal.aborted}`
  })
  expect(await execute(tool, { signal: controller.signal })).toEqual({ ok: true, result: 'aborted: true' })
})

test('a tool whose turn is cancelled already is not called', async () => {
  const run = vi.fn()
  expect(await execute(toolOf(run), { signal: AbortSignal.abort() })).toMatchObject({ ok: false })
  expect(run).not.toHaveBeenCalled()
})

test('progress is passed on while the tool runs', async () => {
  await execute(toolOf((_, toolTurn) => toolTurn.reportProgress({ percent: 50 })))
  expect(reportProgress).toHaveBeenCalledWith({ percent: 50 })
})

test('a tool that ends the turn says why, beside its result', async () => {
  expect(await execute(toolOf(async () => halt('done', { result: { at: new Date(0) } })))).toEqual({
    ...{ ok: true, result: { at: '1970-01-01T00:00:00.000Z' } },
    halt: 'done',
  })
  expect(await execute(toolOf(() => halt('done')))).toEqual({ ok: true, result: null, halt: 'done' })
  expect(await execute(toolOf(() => halt('done', { result: 1n })))).toMatchObject({ outcome: 'ran', halt: 'done' })
  expect(await execute(toolOf(() => ({ type: 'halt', reason: 'data' })))).not.toHaveProperty('halt')
})

test('what only a post-hook may say in a halt is told to the tool, which still ends the turn', async () => {
  const error = "the tool ran and returned halt(reason, { show }), but 'show' is for post-hooks"
  expect(await execute(toolOf(() => halt('done', { show: true })))).toEqual({
    ...{ ok: false, error, outcome: 'ran' },
    halt: 'done',
  })
})
