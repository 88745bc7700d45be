import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { defineFlow } from '../../define/define-flow.ts'
import type { FlowVerbs } from '../../define/flow-verbs.ts'
import type { NewEvent } from '../../log/events.ts'
import { FlowRun } from './flow-run.ts'
import { type FlowState, foldFlow } from './flow-state.ts'

const step = { kind: 'step', name: 'work', input: null, ifInterrupted: 'rerun' } as const
const opened = (position: number, asked = position): NewEvent => {
  return { type: 'flow_opened', content: { position, op: step, asked, id: `s/0/${position}` } }
}
const outcome = (position: number, value: number): NewEvent => {
  return { type: 'flow_outcome', content: { position, ok: true, value } }
}

function recordOf(events: readonly NewEvent[]): FlowState {
  const started: NewEvent = { type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } }
  return foldFlow(
    [started, ...events].map((event, index) => ({ ...event, conversationId: 's', seq: index + 1, at: 0 })),
  )!
}

function runOf(run: (flow: FlowVerbs) => Promise<unknown>, events: readonly NewEvent[] = [], onLateAsk = () => {}) {
  return new FlowRun('s', defineFlow({ name: 'f', version: 1, run }), recordOf(events), onLateAsk)
}

const work = (flow: FlowVerbs) => flow.step('work', () => 1)

afterEach(() => void vi.restoreAllMocks())

test('code that is busy for some turns of the event loop, or for some milliseconds, is waited for', async () => {
  const turns = runOf(async (flow) => {
    for (let turn = 0; turn < 50; turn++) await nextTurn()
    return work(flow)
  })
  expect(await turns.replay()).toMatchObject({ type: 'blocked', asked: 1, ops: [{ position: 1 }] })
  const timer = runOf(async (flow) => {
    await sleep(120)
    return work(flow)
  })
  expect(await timer.replay()).toMatchObject({ type: 'blocked', asked: 1 })
  const ending = runOf(async () => {
    await sleep(120)
    return 'done'
  })
  expect(await ending.replay()).toEqual({ type: 'done', result: 'done' })
})

test('code that waits for something outside for more than five seconds has diverged', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000))
  const stuck = runOf(async (flow) => {
    await new Promise(() => {})
    return work(flow)
  })
  await expect(stuck.replay()).rejects.toMatchObject({
    code: 'flow_diverged',
    position: 1,
    recorded: null,
    message: expect.stringContaining('for something outside the flow; do that in a step'),
  })
  expect(() => stuck.standstill()).toThrow('do that in a step')
  // One look when it began, and one after each pause until five seconds were over.
  expect(now).toBe(6_000)
})

test('code that waits for something outside although more is recorded is told what it did before', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000))
  const stuck = runOf(
    async (flow) => {
      await work(flow)
      await new Promise(() => {})
    },
    [opened(1), outcome(1, 11), opened(2)],
  )
  await expect(stuck.replay()).rejects.toMatchObject({ code: 'flow_diverged', position: 2, recorded: step })
})

test('outcomes of the record are given back in their order, and the code goes on from there', async () => {
  const run = runOf(
    async (flow) => {
      const seen: unknown[] = []
      await Promise.all([work(flow).then((value) => seen.push(value)), work(flow).then((value) => seen.push(value))])
      return seen
    },
    [opened(1, 2), opened(2, 2), outcome(2, 22)],
  )
  expect(await run.replay()).toMatchObject({ type: 'blocked', asked: 2, ops: [{ position: 1 }] })
  expect(await run.deliver({ position: 1, ok: true, value: 11 })).toEqual({ type: 'done', result: [22, 11] })
})

test.each([
  ['asks for less than the record has', async () => 1, [opened(1)], 'done'],
  ['asks for something else', (flow: FlowVerbs) => flow.suspend('go'), [opened(1)], 'suspend'],
  [
    'asks for more at once than the record has',
    (flow: FlowVerbs) => Promise.all([work(flow), flow.suspend('more')]),
    [opened(1)],
    'more',
  ],
  ['asks for fewer at once than the record has', work, [opened(1, 2)], 'step'],
])('code that %s has diverged, and the error shows what it did instead', async (_, code, events, told) => {
  const replaying = runOf(code as never, events).replay()
  await expect(replaying).rejects.toMatchObject({
    ...{ code: 'flow_diverged', message: expect.stringContaining(told) },
  })
})

test('an outcome that the code does not wait for is a difference', async () => {
  const run = runOf(work, [opened(1)])
  await run.replay()
  await expect(run.deliver({ position: 2, ok: true, value: 1 })).rejects.toMatchObject({ code: 'flow_diverged' })
})

test('code that goes on without an outcome is told of at once, and has diverged', async () => {
  const late = vi.fn()
  const outside = Promise.withResolvers<void>()
  const asking = runOf(
    async (flow) => {
      await Promise.race([work(flow), outside.promise])
      return work(flow)
    },
    [],
    late,
  )
  await asking.replay()
  outside.resolve()
  await nextTurn()
  expect(late).toHaveBeenCalledTimes(1)
  expect(() => asking.standstill()).toThrow('waiting for something outside the flow')

  const other = Promise.withResolvers<void>()
  const ending = runOf((flow) => Promise.race([work(flow), other.promise]), [], late)
  await ending.replay()
  other.resolve()
  await nextTurn()
  expect(late).toHaveBeenCalledTimes(2)
  expect(() => ending.standstill()).toThrow('done')
})

test('a failure reaches the code with what is known of it, and a sleep ends with nothing', async () => {
  const seen: unknown[] = []
  const run = runOf(async (flow) => {
    await work(flow).catch((error: unknown) => seen.push(error))
    seen.push(await flow.sleep(5))
    return 'over'
  })
  await run.replay()
  await run.deliver({ position: 1, ok: false, error: 'no', outcome: 'ran', userFacing: true })
  expect(await run.deliver({ position: 2, ok: true, value: null })).toEqual({ type: 'done', result: 'over' })
  expect(seen).toMatchObject([{ message: expect.stringContaining('no'), outcome: 'ran' }, undefined])
})
