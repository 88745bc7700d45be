import { expect, test } from 'vitest'
import { called, replied, said, started, stateOf } from '../../test/log/story.ts'
import type { NewEvent } from './events.ts'

const asked = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1')]
const callIn = (...events: NewEvent[]) => stateOf([...asked, ...events]).turns[0]!.calls[0]

test('a call has not been tried and has not started when it is made', () => {
  expect(callIn()).toMatchObject({ seq: 3, attempts: 0, startedSeq: 0, rounds: [], result: null })
})

test('a call has been tried as often as its last start says, and started there', () => {
  expect(callIn(started('c1'), started('c1', 2))).toMatchObject({ attempts: 2, startedSeq: 5 })
})
