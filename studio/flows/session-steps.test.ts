import type { LogEvent } from 'perdure/client'
import { expect, test } from 'vitest'
import { sessionStory } from './session-steps.ts'

type Told = { [Type in LogEvent['type']]: [Type, Extract<LogEvent, { type: Type }>['content']] }[LogEvent['type']]

const log = (...told: Told[]): LogEvent[] =>
  told.map(
    ([type, content], index) => ({ conversationId: 's', seq: index + 1, at: index * 10, type, content }) as LogEvent,
  )
const started: Told = ['flow_started', { flow: 'refund', version: '1', input: { o: 1 }, who: 'ann' }]
const opened = (position: number): Told => ['flow_opened', { position, asked: position, op: { kind: 'sleep', ms: 5 } }]
const outcome = (position: number): Told => ['flow_outcome', { position, ok: true, value: position }]

test('each operation of a session is a step with its outcome', () => {
  const story = sessionStory(log(started, opened(1), opened(2), outcome(2), outcome(1)))
  expect(story).toMatchObject({ version: '1', input: { o: 1 }, who: 'ann', startedAt: 0, ended: null })
  expect(
    story.steps.map(({ seq, startedAt, endedAt, outcome: end }) => [seq, startedAt, endedAt, end?.position]),
  ).toEqual([
    [2, 10, 40, 1],
    [3, 20, 30, 2],
  ])
})

test('a fresh record begins its positions again and abandons what was open', () => {
  const story = sessionStory(log(started, opened(1), ['flow_continued', { version: '2', input: null }], opened(1)))
  expect(story.version).toBe('2')
  expect(story.steps.map(({ generation, isAbandoned, endedAt }) => [generation, isAbandoned, endedAt])).toEqual([
    [0, true, 20],
    [1, false, null],
  ])
})

test('a second outcome, an operation out of order and what follows the end change nothing', () => {
  const end: Told = ['flow_ended', { status: 'done', result: 3 }]
  const story = sessionStory(log(started, opened(2), opened(1), outcome(1), outcome(1), end, opened(2)))
  expect(story.steps).toHaveLength(1)
  expect(story.steps[0]).toMatchObject({ seq: 3, endedAt: 30 })
  expect(story.ended).toEqual({ status: 'done', result: 3, at: 50 })
})
