import { describe, expect, test } from 'vitest'
import {
  called,
  ended,
  failed,
  replacing,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { openTurn } from '../../log/state.ts'
import { noReduction } from '../budget/reduce.ts'
import { CallIds } from './call-ids.ts'
import { renderContext } from './render-context.ts'
import { renderTurn, withdrawnCalls } from './render-turn.ts'
import { transcript } from './transcript.ts'

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

describe('what withdrawn calls did', () => {
  const model = { provider: 'openai', modelId: 'gpt-5' }
  const turnWith = (calls: readonly NewEvent[], callIds: string[]): NewEvent[] => [
    ...[said('t1'), replied('t1', 'm1', 1, { calls: callIds })],
    ...calls,
    ended('t1', 'cancelled'),
  ]
  const refunded = turnWith([called('c1', { args: { order: 'o-17' } }), started('c1'), succeeded('c1')], ['c1'])

  function textOf(events: NewEvent[]): string {
    return withdrawnCalls(openTurn(stateOf([...events, replacing(1, 't2'), said('t2')]))!)
  }

  describe('the prompt of a turn that replaces another', () => {
    test('has no word of the withdrawn turn, and lists what its calls did before the new message', () => {
      const prompt = renderContext(stateOf([...refunded, replacing(1, 't2'), said('t2')]), { system: '', model })
      expect(prompt.map(({ role }) => role)).toEqual(['user', 'user'])
      const [before, message] = prompt.map(({ content }) => JSON.stringify(content))
      expect(before).toContain('- refund({\\"order\\":\\"o-17\\"}): done, with the result \\"done\\"')
      expect(message).toContain('for t2')
      expect(JSON.stringify(prompt)).not.toContain('for t1')
    })

    test('is the message alone where nothing was done', () => {
      const events = [said('t1'), replied('t1', 'm1', 1), ended('t1'), replacing(1, 't2'), said('t2')]
      const prompt = renderContext(stateOf(events), { system: '', model })
      expect(prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'for t2' }] }])
    })

    test('says so where it is not known what a call did, and where a person denied it', () => {
      const denied = [called('c2', { gated: true }), suspended('c2', 'approval'), resolved('c2', 'approval', 'denied')]
      const text = textOf(
        turnWith([called('c1'), started('c1'), failed('c1', 'cut off', 'unknown'), ...denied], ['c1', 'c2']),
      )
      expect(text).toContain('it may have taken effect: cut off')
      expect(text).toContain('failed: tool call denied')
    })

    test('shortens what long calls returned, and counts the oldest of very many', () => {
      const long = Array.from({ length: 30 }, (_, n) => `c${n}`)
      const args = { text: 'x'.repeat(3_000) }
      const some = textOf(
        turnWith(
          long.flatMap((id) => [called(id, { args }), started(id), succeeded(id)]),
          long,
        ),
      )
      expect(some.match(/- refund/g)).toHaveLength(30)
      expect(some.length).toBeLessThan(41_000)
      const many = Array.from({ length: 2_000 }, (_, n) => `c${n}`)
      const counted = textOf(
        turnWith(
          many.flatMap((id) => [called(id, { args }), started(id), succeeded(id)]),
          many,
        ),
      )
      expect(counted.length).toBeLessThan(41_000)
      const told = counted.match(/- refund/g)!.length
      expect(counted).toContain(`- before those, ${2_000 - told} times refund: done`)
    })

    test('tells the same to a model that sums up', () => {
      const events = [...refunded, replacing(1, 't2'), said('t2'), replied('t2', 'm2', 8), ended('t2')]
      const text = transcript(stateOf(events).turns)
      expect(text).toContain('Tool, in an attempt that the user has replaced: refund({"order":"o-17"}): done')
      expect(text).not.toContain('for t1')
    })
  })
})
