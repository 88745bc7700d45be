import { expect, test } from 'vitest'
import { DeterminismError } from '../../src/base/errors/flow-errors.ts'
import { FlowRun } from '../../src/engine/flow/flow-run.ts'
import { foldFlow } from '../../src/engine/flow/flow-state.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { namesIn, type Program, preceded, renamed, without } from './random-program.ts'
import { flowOf, type RecordedSession, recordedSessions } from './recorded-sessions.ts'

const seed = 7
const sessions: Promise<RecordedSession[]> = recordedSessions(seed, 80)

test('a thousand clean replays, of every length of many flows, raise no alarm', async () => {
  let replays = 0
  const kinds = new Set<string>()
  for (const { program, log } of await sessions) {
    for (let length = 1; length <= log.length; length++) {
      await replay(program, log.slice(0, length))
      replays += 1
    }
    for (const event of log) if (event.type === 'flow_opened') kinds.add(event.content.op.kind)
  }
  expect(replays).toBeGreaterThanOrEqual(1_000)
  expect([...kinds].toSorted()).toEqual(['now', 'random', 'request', 'sleep', 'step', 'suspend', 'uuid'])
})

test.each([
  ['under another name', renamed],
  ['with another before it', preceded],
  ['left out', without],
])('an operation %s is caught wherever its flow has asked for it', async (_, change) => {
  let planted = 0
  for (const { program, log } of await sessions) {
    for (const name of namesIn(program)) {
      const asked = log.findIndex((event) => event.type === 'flow_opened' && nameOf(event) === name)
      if (asked < 0) continue
      planted += 1
      await expect(replay(change(program, name), log), `${name} of ${JSON.stringify(program)}`).rejects.toThrow(
        DeterminismError,
      )
    }
  }
  expect(planted).toBeGreaterThanOrEqual(300)
})

test('a replay gives the same result as the run it was recorded from', async () => {
  for (const { program, log } of await sessions) {
    const end = log.at(-1)!
    if (end.type !== 'flow_ended') throw new Error('a session that has not ended')
    const standstill = await replay(program, log.slice(0, -1))
    if (end.content.status === 'done') expect(standstill).toEqual({ type: 'done', result: end.content.result })
    else expect(standstill).toMatchObject({ type: 'failed', error: { message: end.content.error } })
  }
})

function replay(program: Program, log: readonly LogEvent[]) {
  return new FlowRun('s1', flowOf(program), foldFlow(log)!).replay()
}

function nameOf({ content }: Extract<LogEvent, { type: 'flow_opened' }>): string | null {
  const { op } = content
  if (op.kind === 'step') return op.name
  if (op.kind === 'request') return op.request
  return op.kind === 'suspend' ? String(op.tag) : null
}
