import { expect, test } from 'vitest'
import { z } from 'zod'
import type { AskedFor } from './flow-verbs.ts'
import { flowVerbs } from './flow-verbs.ts'

function verbs() {
  const asked: AskedFor[] = []
  const continued: unknown[] = []
  const flow = flowVerbs(
    async (one) => asked.push(one) as never,
    async (input) => continued.push(input) as never,
  )
  return { flow, asked, continued, ops: () => asked.map(({ op }) => op) }
}

test('each verb asks for its operation', async () => {
  const { flow, asked, ops } = verbs()
  const run = () => 1
  await flow.suspend('wait')
  await flow.suspend(undefined as never, { schema: z.number() })
  await flow.request('pay', undefined as never)
  await flow.sleep(0)
  await flow.agent('helper', { message: 'go' })
  await flow.agent({ name: 'helper' } as never, { id: 'c1', message: 'go' })
  await flow.step('work', run)
  await flow.step('work', { input: { a: 1 }, ifInterrupted: 'report' }, run)
  await flow.now()
  await flow.random()
  await flow.uuid()
  expect(ops()).toEqual([
    { kind: 'suspend', tag: 'wait' },
    { kind: 'suspend', tag: null, schema: expect.objectContaining({ type: 'number' }) },
    { kind: 'request', request: 'pay', payload: null },
    { kind: 'sleep', ms: 0 },
    { kind: 'agent', agent: 'helper', id: null, message: 'go' },
    { kind: 'agent', agent: 'helper', id: 'c1', message: 'go' },
    { kind: 'step', name: 'work', input: null, ifInterrupted: 'rerun' },
    { kind: 'step', name: 'work', input: { a: 1 }, ifInterrupted: 'report' },
    { kind: 'now' },
    { kind: 'random' },
    { kind: 'uuid' },
  ])
  expect(
    asked
      .map((one) => [one.run === run, one.schema !== null])
      .flatMap(([ran, has], n) => (ran || has ? [[n, ran, has]] : [])),
  ).toEqual([
    [1, false, true],
    [6, true, false],
    [7, true, false],
  ])
})

test('wrong arguments throw, and nothing is asked for', () => {
  const { flow, ops } = verbs()
  const wrong: (() => unknown)[] = [
    () => flow.request(7 as never, null),
    () => flow.sleep(-1),
    () => flow.agent('helper', { message: 7 as never }),
    () => flow.agent('', { message: 'go' }),
    () => flow.agent('helper', { id: '', message: 'go' }),
    () => flow.step(7 as never, () => 1),
    () => flow.step('work', undefined as never),
    () => flow.step('work', { ifInterrupted: 'ignore' as never }, () => 1),
    () => flow.suspend((() => {}) as never),
    () => flow.step('work', { input: 1n as never }, () => 1),
    () => flow.continueAs((() => {}) as never),
  ]
  for (const call of wrong)
    expect(call).toThrow(expect.objectContaining({ code: expect.stringMatching(/^invalid_(argument|id)$/) }))
  expect(ops()).toEqual([])
})

test('going on with a fresh record takes its input as it will be read back', async () => {
  const { flow, continued } = verbs()
  await flow.continueAs({ at: new Date(0), none: undefined } as never)
  await flow.continueAs(undefined as never)
  expect(continued).toEqual([{ at: '1970-01-01T00:00:00.000Z' }, null])
})

test.each<[string, (flow: ReturnType<typeof verbs>['flow']) => unknown]>([
  ["'message' must be a string", (flow) => flow.agent('helper', { message: 7 as never })],
  ['The agent is empty', (flow) => flow.agent('', { message: 'go' })],
  ['The conversation id is empty', (flow) => flow.agent('helper', { id: '', message: 'go' })],
  ["'kind' must be a string", (flow) => flow.request(7 as never, null)],
  ["'ms' must be a whole number of at least 0, not -1", (flow) => flow.sleep(-1)],
])('a verb with a wrong argument is refused: %s', async (problem, ask) => {
  const { flow, asked } = verbs()
  await expect((async () => ask(flow))()).rejects.toThrow(problem)
  expect(asked).toEqual([])
})
