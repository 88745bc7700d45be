import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { lifecycleOf } from '../engine/turn/pending-outcomes.ts'
import { takeSnapshot } from '../snapshot/take-snapshot.ts'
import type { LogEvent, NewEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { readSnapshot } from './read-snapshot.ts'
import { snapshotVersion } from './snapshot.ts'
import type { ConversationState } from './state.ts'

const folder = new URL('../../test/fixtures/snapshots/', import.meta.url)
const fixtures = readdirSync(folder).map((name): [string, unknown] => [
  name,
  JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
])

const turn = { turnId: 't-1', status: 'completed', reason: null }

const user: NewEvent = {
  type: 'user_msg',
  content: { turnId: 't', message: { parts: [{ type: 'text', text: 'Hi' }] }, options: {}, who: 'ann' },
}

function state(...events: NewEvent[]): ConversationState {
  return foldEvents(events.map((event, index): LogEvent => ({ ...event, conversationId: 'x', seq: index + 1, at: 5 })))
}

const origin = { summary: null }

describe('reading a snapshot', () => {
  test('there is a fixture of every version there ever was', () => {
    expect(fixtures.map(([name]) => name).toSorted()).toEqual(
      Array.from({ length: snapshotVersion }, (_, index) => `version-${index + 1}.json`),
    )
  })

  test.each(fixtures)('%s is brought to this version', (_, fixture) => {
    const read = readSnapshot(fixture)
    if (!read.ok) throw new Error(read.problem)
    expect(read.snapshot.version).toBe(snapshotVersion)
    expect(read.snapshot.messages.length).toBeGreaterThan(0)
    expect(readSnapshot(read.snapshot)).toEqual(read)
  })

  test('one without a version is of the first', () => {
    expect(readSnapshot({ messages: [{ role: 'user', content: 'Hi' }] })).toMatchObject({
      ok: true,
      snapshot: { version: 3, title: null, messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] },
    })
  })

  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /undefined is not JSON/],
    ['a function in it', { version: 2, at: () => 1 }, /snapshot\.at: function is not JSON|function/],
    ['null', null, /^'snapshot' must be an object$/],
    ['a text', 'snapshot', /^'snapshot' must be an object$/],
    ['a list', [], /^'snapshot' must be an object$/],
    ['a version to come', { version: 99 }, /version is 99, and the newest that this Perdure reads is 3/],
    ['half a version', { version: 1.5 }, /no version ever was/],
    [
      'messages of the first version that are none',
      { version: 1, messages: 'x' },
      /'snapshot\.messages' must be a list/,
    ],
    ['a message of the first version without text', { messages: [{ role: 'user' }] }, /parts\[0\]\.text/],
    ['null as a message of the first version', { messages: [null] }, /messages\[0\]/],
    [
      'a turn that is listed twice',
      { ...(fixtures[2]![1] as object), turns: [turn, turn] },
      /'snapshot\.turns' must not name a turn twice/,
    ],
    ['a message of no turn', { ...(fixtures[2]![1] as object), turns: [turn] }, /messages\[2\]\.turnId' must name/],
    [
      'a turn of no known status',
      { ...(fixtures[2]![1] as object), turns: [{ ...turn, status: 'x' }] },
      /turns\[0\]\.status/,
    ],
    ['a role that could instruct', { messages: [{ role: 'system', content: 'x' }] }, /messages\[0\]\.role/],
  ])('with %s is refused, and the problem names the place', (_, value, problem) => {
    const read = readSnapshot(value)
    if (read.ok) throw new Error('it was read')
    expect(read.problem).toMatch(problem)
  })
})

describe('taking a snapshot', () => {
  test('gives plain JSON that can be read again, and shares nothing with the state', () => {
    const folded = state(user)
    const snapshot = takeSnapshot({ state: folded, origin })
    expect(readSnapshot(snapshot)).toEqual({ ok: true, snapshot })
    ;(snapshot.messages[0]!.parts[0] as { text: string }).text = 'changed'
    expect(JSON.stringify(folded)).not.toContain('changed')
    expect(JSON.stringify(snapshot)).not.toContain('ann')
  })

  test('has the summary of the turns that were left out', () => {
    const summary = { toSeq: 9, version: 1, content: 'Earlier.' }
    expect(takeSnapshot({ state: state(user), origin: { summary } })).toMatchObject({ summary: 'Earlier.' })
    expect(takeSnapshot({ state: state(user), origin })).toMatchObject({ summary: null })
  })
})

test('a log that an earlier version seeded keeps the seed in its snapshots', () => {
  const seed = JSON.parse(readFileSync(new URL('version-2.json', folder), 'utf8')) as never
  const seeded: NewEvent = { type: 'seeded', content: { state: seed } }
  const taken = takeSnapshot({ state: state(seeded, user), origin })
  expect(taken).toMatchObject({ summary: 'Ann ordered a lamp.', turns: [{ turnId: 'turn-1' }, { turnId: 't' }] })
  expect(taken.messages.map(({ role, turnId }) => [role, turnId])).toEqual([
    ['user', 'turn-1'],
    ['assistant', 'turn-1'],
    ['user', 't'],
  ])
})

test('a snapshot has the newest turns that fit into 4 MiB, and names each turn once', () => {
  const long = (turnId: string): NewEvent[] => [
    {
      ...user,
      content: { ...user.content, turnId, message: { parts: [{ type: 'text', text: 'x'.repeat(1_000_000) }] } },
    } as NewEvent,
    { type: 'turn_ended', content: { turnId, status: 'completed', reason: null } },
  ]
  const taken = takeSnapshot({ state: state(...['a', 'b', 'c', 'c', 'd'].flatMap(long)), origin })
  expect(taken.turns.map(({ turnId }) => turnId)).toEqual(['b', 'c', 'c/4', 'd'])
  expect(readSnapshot(taken)).toEqual({ ok: true, snapshot: taken })
})

describe('the persistence moment of a commit', () => {
  const ended = (status: 'completed' | 'cancelled' | 'failed' | 'halted'): NewEvent => ({
    type: 'turn_ended',
    content: { turnId: 't', status, reason: null },
  })

  test.each([
    ['completed', 'on_completion'],
    ['halted', 'on_completion'],
    ['cancelled', 'on_cancel'],
    ['failed', 'on_error'],
  ] as const)('%s: %s', (status, lifecycle) => {
    const events = [ended(status)]
    expect(lifecycleOf(events, state(user), state(user, ...events))).toEqual({ lifecycle, turnId: 't' })
  })

  test('is null when nothing ended and no call waits', () => {
    expect(lifecycleOf([user], state(), state(user))).toBeNull()
  })
})
