import { expect, test } from 'vitest'
import { answerDiff } from './answer-diff.ts'

const shown = (theirs: string, own: string): string =>
  answerDiff(theirs, own)
    .map(({ value, added, removed }) => (added ? `+${value}+` : removed ? `-${value}-` : value))
    .join('')

test('answers that are alike are compared word by word', () => {
  expect(shown('You have 45 euros back.', 'You have 50 euros back.')).toBe('You have -45-+50+ euros back.')
  expect(shown('The same.', 'The same.')).toBe('The same.')
})

test('answers with little in common are shown whole, one after the other', () => {
  expect(shown('The lamp is on its way to you.', 'A refund is what I have to ask for first.')).toBe(
    '-The lamp is on its way to you.-+A refund is what I have to ask for first.+',
  )
})

test('an answer against none is all new', () => {
  expect(shown('', 'Hello.')).toBe('+Hello.+')
  expect(shown('', '')).toBe('')
})
