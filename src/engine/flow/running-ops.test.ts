import { expect, test } from 'vitest'
import { UserFacingError } from '../../base/errors/perdure-error.ts'
import { InvalidArgumentError, StoreError } from '../../base/errors/store-errors.ts'
import type { AgentAnswer, StepFunction } from '../../define/flow-verbs.ts'
import type { FlowOp, FlowOpened } from '../../log/events.ts'
import type { LiveOp } from './flow-run.ts'
import { RunningOps } from './running-ops.ts'

const stepOp: FlowOp = { kind: 'step', name: 'work', input: null, ifInterrupted: 'rerun' }
const agentOp: FlowOp = { kind: 'agent', agent: 'editor', id: null, message: 'hi' }
const answer: AgentAnswer = { status: 'completed', text: 'Hi', object: null, reason: null }

/** What runs for one record; `ask` is the agent. */
function running({
  ask = async () => null,
  mayStart = true,
}: {
  ask?: () => Promise<AgentAnswer | null>
  mayStart?: boolean
} = {}) {
  const asked: unknown[][] = []
  const warnings: string[] = []
  let wakes = 0
  const ops = new RunningOps(
    {
      id: 's1',
      warnOfStore: (message) => void warnings.push(message),
      askAgent: (...args) => {
        asked.push(args)
        return ask()
      },
      mayStart: async () => mayStart,
      wake: () => void (wakes += 1),
    },
    new Set(['s1/0/9']),
  )
  const begin = (op: FlowOp, run: StepFunction | null = null, position = 1) => {
    const live: LiveOp = { position, op, run, schema: null }
    const opened: FlowOpened = { position, op, asked: 1, id: `s1/0/${position}` }
    ops.begin(live, opened, 'ann')
  }
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
  const ids = () => [...ops.hand().running]
  return { ops, asked, warnings, begin, settled, ids, wakes: () => wakes }
}

test('a step runs once with its id, and what it returns is in hand', async () => {
  const { ops, begin, settled, ids, wakes } = running()
  const seen: string[] = []
  const run: StepFunction = ({ id }) => void seen.push(id)
  begin(stepOp, run)
  begin(stepOp, run)
  expect(ids()).toEqual([1])
  await settled()
  expect([seen, wakes()]).toEqual([['s1/0/1'], 1])
  expect(ops.hand().outcomes).toEqual([{ position: 1, ok: true, value: null }])
  ops.settle(new Set([1]))
  expect([ops.hand().outcomes, ids()]).toEqual([[], []])
})

test('what a step throws is in hand with its code, and that it is meant for people', async () => {
  const { ops, begin, settled } = running()
  begin(stepOp, () => Promise.reject(new Error('no')))
  begin(stepOp, () => Promise.reject(new UserFacingError('not today')), 2)
  await settled()
  const [plain, meant] = ops.hand().outcomes
  expect(plain).toMatchObject({ position: 1, ok: false, error: expect.stringContaining('no') })
  expect(plain).not.toHaveProperty('code')
  expect(plain).not.toHaveProperty('userFacing')
  expect(meant).toMatchObject({ position: 2, ok: false, userFacing: true })
})

test('a step that may not start any more is not run', async () => {
  const { begin, settled } = running({ mayStart: false })
  let runs = 0
  begin(stepOp, () => ++runs)
  await settled()
  expect(runs).toBe(0)
})

test('what was aborted, or has an outcome in the log, is not reported', async () => {
  const { ops, begin, settled, ids, wakes } = running()
  const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const signals: AbortSignal[] = []
  for (const [index, { promise }] of gates.entries()) {
    const run: StepFunction = ({ signal }) => {
      signals.push(signal)
      return promise
    }
    begin(stepOp, run, index + 1)
  }
  await settled()
  ops.settle(new Set([1]))
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  expect(ids()).toEqual([2])
  ops.abort()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  for (const { resolve } of gates) resolve('late')
  await settled()
  expect([ops.hand().outcomes, ids(), wakes()]).toEqual([[], [], 0])
})

test('what this process opens is known as its own', () => {
  const { ops } = running()
  expect(ops.hand().openedHere.has(1)).toBe(false)
  ops.opens(1)
  expect(ops.hand().openedHere.has(1)).toBe(true)
})

test('an agent is asked once until it is looked at again; then it is known that the message was sent', async () => {
  const { ops, asked, begin, settled, ids, wakes } = running()
  begin(agentOp)
  expect(ids()).toEqual([1])
  await settled()
  expect([[...ops.hand().unanswered], ids(), wakes()]).toEqual([[1], [], 1])
  begin(agentOp)
  await settled()
  expect(asked).toEqual([[agentOp, 's1/0/1', 'ann', false]])
  ops.lookAgain()
  expect(ops.hand().unanswered.size).toBe(0)
  begin(agentOp)
  await settled()
  expect(asked).toHaveLength(2)
  expect(asked[1]).toEqual([agentOp, 's1/0/1', 'ann', true])
  expect([...ops.sent]).toEqual(['s1/0/9', 's1/0/1'])
})

test('the answer of an agent is in hand', async () => {
  const { ops, begin, settled, wakes } = running({ ask: async () => answer })
  begin(agentOp)
  await settled()
  expect(ops.hand().outcomes).toEqual([{ position: 1, ok: true, value: answer }])
  expect([ops.hand().unanswered.size, wakes()]).toEqual([0, 1])
})

test('asking that may succeed later is told of and tried again; what will not is for the flow to handle', async () => {
  const failures = [
    new StoreError('away'),
    new Error('a bug'),
    Object.assign(new InvalidArgumentError('a', 'b'), { code: 'runtime_closed' }),
  ]
  for (const error of failures) {
    const { ops, warnings, begin, settled } = running({ ask: () => Promise.reject(error) })
    begin(agentOp)
    await settled()
    expect([warnings, [...ops.hand().unanswered], ops.hand().outcomes]).toEqual([
      ['asking an agent failed; trying again'],
      [1],
      [],
    ])
    expect(ops.sent.has('s1/0/1')).toBe(false)
  }
  const { ops, warnings, begin, settled } = running({
    ask: () => Promise.reject(new InvalidArgumentError('message', 'is empty')),
  })
  begin(agentOp)
  await settled()
  expect(warnings).toEqual([])
  expect(ops.hand().outcomes).toMatchObject([{ position: 1, ok: false, code: 'invalid_argument' }])
})

test('an agent that answers after the end is not heard', async () => {
  const gate = Promise.withResolvers<AgentAnswer | null>()
  const { ops, begin, settled, wakes } = running({ ask: () => gate.promise })
  begin(agentOp)
  ops.abort()
  gate.resolve(null)
  await settled()
  expect([ops.hand().unanswered.size, wakes()]).toEqual([0, 0])
})
