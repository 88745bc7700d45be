import { expect, test } from 'vitest'
import { ended, replied, said, stateOf } from '../../test/log/story.ts'
import type { NewEvent } from '../log/events.ts'
import { EndedTurns } from './ended-turns.ts'
import { noReduction } from './reduction.ts'
import { blobsNeeded, renderContext } from './render-context.ts'

const model = { provider: 'test', modelId: 'one' }
const blob = { blob: 'hash', mediaType: 'image/png', size: 3 }
const shows: NewEvent = {
  type: 'user_msg',
  content: {
    turnId: 't2',
    message: { parts: [{ type: 'file', mediaType: 'image/png', data: blob }] },
    options: {},
    who: 'ann',
  },
}
const state = stateOf([
  ...[said('t1'), replied('t1', 'm1', 1), ended('t1')],
  ...[shows, replied('t2', 'm2', 4), ended('t2')],
  said('t3'),
])

test('a file of an ended turn is asked for and shown in every prompt, with the bytes that were read for it', () => {
  const remembered = new EndedTurns()
  for (const byte of [1, 2]) {
    expect(blobsNeeded(state, noReduction, [], remembered)).toEqual([blob])
    const blobs = new Map([['hash', Uint8Array.of(byte)]])
    const prompt = renderContext(state, { system: '', model, blobs, ended: remembered })
    expect(prompt).toEqual(renderContext(state, { system: '', model, blobs }))
  }
})

test('turns that have ended are rendered once for prompts that only grow', () => {
  const remembered = new EndedTurns()
  const turns = state.turns.slice(0, 1)
  expect(remembered.countWithoutFiles(turns)).toBe(0)
  expect(remembered.of(turns, model, noReduction.stubbed).count).toBe(1)
  expect(remembered.countWithoutFiles(turns)).toBe(1)
  // The second shows a file.
  expect(remembered.of(state.turns, model, noReduction.stubbed).count).toBe(1)
  const [first] = remembered.of(turns, { provider: 'other', modelId: 'two' }, noReduction.stubbed).messages
  expect(first).toEqual({ role: 'user', content: [{ type: 'text', text: 'for t1' }] })
})
