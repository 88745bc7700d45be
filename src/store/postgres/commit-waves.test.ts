import { expect, test } from 'vitest'
import { prepareChange } from '../prepare-change.ts'
import { wavesOf } from './commit-query.ts'

function to(id: string, callIds: string[] = [], tenant = 'default') {
  return { tenant, id, change: prepareChange({ events: [], calls: callIds.map((callId) => ({ id: callId })) }) }
}

test('changes of different conversations share a wave', () => {
  expect(wavesOf([to('a'), to('b'), to('a', [], 'other tenant')])).toEqual([1, 1, 1])
})

test('changes of one conversation follow each other', () => {
  expect(wavesOf([to('a'), to('b'), to('a'), to('a'), to('b')])).toEqual([1, 1, 2, 3, 2])
})

test('conversations that write the same call row follow each other, and so does what comes after', () => {
  expect(wavesOf([to('a', ['call']), to('b', ['call']), to('b'), to('c', ['other call'])])).toEqual([1, 2, 3, 1])
})
