import { expect, test } from 'vitest'
import { called, replied, said, stateOf, succeeded } from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { CallIds } from './call-ids.ts'
import { noReduction } from './reduction.ts'
import { renderTurn } from './render-turn.ts'

const model = { provider: 'test', modelId: 'one' }
const text = { type: 'text' as const, text: 'Let me see.' }
const call = { type: 'call' as const, callId: 'c1' }

function rolesOf(events: readonly NewEvent[]): string[] {
  const [turn] = stateOf(events).turns
  const messages = renderTurn(turn!, { model, stubbed: noReduction.stubbed }, new CallIds())
  return messages.map(({ role, content }) => `${role} ${content.length}`)
}

test('calls have their results right after them', () => {
  const events = [said('t1'), replied('t1', 'm1', 1, { parts: [text, call] }), called('c1'), succeeded('c1')]
  expect(rolesOf(events)).toEqual(['user 1', 'assistant 2', 'tool 1'])
})

test('a message whose calls were cut off with a fork is followed by an empty one of the user, whatever else it says', () => {
  expect(rolesOf([said('t1'), replied('t1', 'm1', 1, { parts: [text, call] })])).toEqual([
    'user 1',
    'assistant 1',
    'user 0',
  ])
  expect(rolesOf([said('t1'), replied('t1', 'm1', 1, { parts: [text] })])).toEqual(['user 1', 'assistant 1'])
})
