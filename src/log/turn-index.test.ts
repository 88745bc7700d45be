import { expect, test } from 'vitest'
import { continued, ended, replacing, said, stateOf } from '../../test/log/story.ts'
import type { NewEvent } from './events.ts'

const turns = (count: number): NewEvent[] =>
  Array.from({ length: count }, (_, n) => [said(`t${n}`), ended(`t${n}`)]).flat()

test('a long log that is folded in parts is the same as one that is folded whole', () => {
  const log = [...turns(1_200), replacing(2_001, 'bob'), said('t1'), said('t1000'), ended('t1'), ended('t1000')]
  let state = stateOf(log.slice(0, 7))
  for (let from = 7; from < log.length; from += 150) state = continued(state, log.slice(from, from + 150))
  expect(state).toEqual(stateOf(log))
})

test('two folds that go on from the same long state know nothing of each other', () => {
  const log = turns(1_000)
  const begun = stateOf(log)
  continued(begun, [said('a'), said('b')])
  const other = [said('x'), said('a'), said('b')]
  expect(continued(begun, other)).toEqual(stateOf([...log, ...other]))
})
