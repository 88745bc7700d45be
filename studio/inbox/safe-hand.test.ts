import { expect, test } from 'vitest'
import { heldBack, nowShown, seen } from './safe-hand.ts'

test('an item is answered only after it was shown for 700 ms', () => {
  const shown = nowShown(null, 'call-1', 'round 1', 1_000)
  expect(heldBack(shown, 'round 1', 1_699)).toBe('too soon')
  expect(heldBack(shown, 'round 1', 1_700)).toBe(null)
  expect(heldBack(null, 'round 1', 9_000)).toBe('changed')
})

test('nothing is answered in the 700 ms after a dialog closed', () => {
  const shown = nowShown(null, 'call-1', 'round 1', 1_000)
  expect(heldBack(shown, 'round 1', 5_699, 5_000)).toBe('after a dialog')
  expect(heldBack(shown, 'round 1', 5_700, 5_000)).toBe(null)
})

test('showing the same again does not begin anew', () => {
  const shown = nowShown(null, 'call-1', 'round 1', 1_000)
  expect(nowShown(shown, 'call-1', 'round 1', 1_600)).toBe(shown)
})

test('an item that changes while it is shown asks again, however long that takes', () => {
  const before = nowShown(null, 'call-1', 'round 1', 1_000)
  const changed = nowShown(before, 'call-1', 'round 2', 5_000)
  expect(heldBack(changed, 'round 2', 60_000)).toBe('changed')
  const looked = seen(changed, 60_000)
  expect(heldBack(looked, 'round 2', 60_100)).toBe('too soon')
  expect(heldBack(looked, 'round 2', 60_700)).toBe(null)
})

test('an answer that was meant for what is no longer shown is held back', () => {
  const shown = nowShown(null, 'call-1', 'round 2', 1_000)
  expect(heldBack(shown, 'round 1', 9_000)).toBe('changed')
})

test('another item takes its own time', () => {
  const first = nowShown(null, 'call-1', 'round 1', 1_000)
  const second = nowShown(first, 'call-2', 'round 1', 5_000)
  expect(second.isChanged).toBe(false)
  expect(heldBack(second, 'round 1', 5_300)).toBe('too soon')
  expect(heldBack(second, 'round 1', 5_700)).toBe(null)
})
