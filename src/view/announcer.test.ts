import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyConversation, anyEvents } from '../../test/log/any-events.ts'
import {
  called,
  cancelled,
  ended,
  failed,
  marked,
  placed,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import type { CallState } from '../log/state.ts'
import { Announcer } from './live-events.ts'

/** What the last of the events announces, as `type detail`. */
function announced(events: readonly NewEvent[]): string[] {
  const before = stateOf(events.slice(0, -1))
  const [last] = placed(events.slice(-1), before.lastSeq)
  const announcer = new Announcer(before)
  const { live } = announcer.next(last!)
  expect(announcer.state()).toEqual(stateOf(events))
  for (const event of live) expect(event).toMatchObject({ conversationId: 'story', seq: events.length })
  return live.map((event) => {
    const detail = event as { phase?: string; turnId?: string; messageId?: string; callId?: string; error?: string }
    return `${event.type} ${detail.phase ?? detail.messageId ?? detail.callId ?? detail.turnId ?? ''}`
  })
}

const calling = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1')]
const asking = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]

const stories: [string, NewEvent[], string[]][] = [
  ['a message to an idle conversation begins a turn', [said('t1')], ['turn_started t1', 'phase_changed running']],
  ['a queued message announces nothing yet', [said('t1'), said('t2')], []],
  ['a steering message announces nothing', [said('t1'), said('t1')], []],
  ['a message is completed when it is committed', [said('t1'), replied('t1', 'm1', 1)], ['message_completed m1']],
  ['a mark announces nothing', [said('t1'), marked('m1')], []],
  [
    'a message that is withheld is withdrawn',
    [said('t1'), marked('m1'), replied('t1', 'm1', 1)],
    ['message_discarded m1'],
  ],
  ['a call that is only made announces nothing', calling, []],
  ['a call is started', [...calling, started('c1')], ['tool_call_started c1']],
  ['a call ends well', [...calling, started('c1'), succeeded('c1')], ['tool_call_resolved c1']],
  ['a call ends badly', [...calling, started('c1'), failed('c1', 'no')], ['tool_call_errored c1']],
  ['a call waits', [...asking, suspended('c1', 'approval')], ['suspended c1', 'phase_changed waiting']],
  [
    'an approval lets the turn go on; the call has not ended',
    [...asking, suspended('c1', 'approval'), resolved('c1', 'approval')],
    ['phase_changed running'],
  ],
  [
    'a denial ends the call',
    [...asking, suspended('c1', 'approval'), resolved('c1', 'approval', 'denied')],
    ['tool_call_errored c1', 'phase_changed running'],
  ],
  ['a cancel makes the conversation terminate', [said('t1'), cancelled('t1')], ['phase_changed terminating']],
  ['the end of a turn', [said('t1'), ended('t1')], ['turn_completed t1', 'phase_changed idle']],
  ['the failure of a turn', [said('t1'), ended('t1', 'failed')], ['turn_failed t1', 'phase_changed idle']],
  ['the halt of a turn', [said('t1'), ended('t1', 'halted')], ['turn_halted t1', 'phase_changed idle']],
  [
    'the cancellation of a turn',
    [said('t1'), cancelled('t1'), ended('t1', 'cancelled')],
    ['cancelled t1', 'phase_changed idle'],
  ],
  [
    'the end of a turn begins the next one in the queue',
    [said('t1'), said('t2'), ended('t1')],
    ['turn_completed t1', 'turn_started t2'],
  ],
  [
    'a resolution of a call that has ended announces nothing',
    [...calling, started('c1'), failed('c1', 'no'), resolved('c1', 'approval', 'denied')],
    [],
  ],
  ['an answer to a call that a summary has put away announces nothing', [said('t1'), resolved('gone', 'approval')], []],
]

test.each(stories)('%s', (_, events, expected) => {
  expect(announced(events)).toEqual(expected)
})

test('watchers get each event unchanged, and a withheld message without its text', () => {
  const [asked, mark, message, other] = placed([
    said('t1'),
    marked('m1'),
    replied('t1', 'm1', 1, { object: 42 }),
    replied('t1', 'm2', 1),
  ])
  const announcer = new Announcer(stateOf([]))
  const shown = [asked!, mark!, message!, other!].map((event) => announcer.next(event).shown)
  expect([shown[0], shown[1], shown[3]]).toEqual([asked, mark, other])
  const { object: _, ...content } = message!.content as { object?: unknown }
  expect(shown[2]).toEqual({ ...message, content: { ...content, parts: [] } })
})

test('an event of an unknown type stops the announcer', () => {
  const [unknown] = placed([{ type: 'from_the_future', content: {} } as unknown as NewEvent], 1)
  const announcer = new Announcer(stateOf([said('t1')]))
  expect(() => announcer.next(unknown!)).toThrow(expect.objectContaining({ code: 'event_unknown' }))
})

test('one announcer over many events announces the same as a new one for each event', () => {
  fc.assert(
    fc.property(fc.oneof(anyConversation, anyEvents), fc.nat(), (events, cut) => {
      const log = placed(events)
      const from = cut % (log.length + 1)
      const announcer = new Announcer(foldEvents(log.slice(0, from)))
      for (const event of log.slice(from)) {
        const alone = new Announcer(foldEvents(log.slice(0, event.seq - 1)))
        expect(announcer.next(event)).toEqual(alone.next(event))
      }
      expect(announcer.state()).toEqual(foldEvents(log))
    }),
    { numRuns: 300, seed: 1 },
  )
})

test('calls that a turn leaves open when it ends do not count for the next one', () => {
  const announcer = new Announcer(stateOf([]))
  const log = placed([...asking, suspended('c1', 'approval'), said('t2'), ended('t1', 'failed')])
  const live = log.flatMap((event) => announcer.next(event).live)
  expect(live.at(-1)).toMatchObject({ type: 'phase_changed', phase: 'running' })
})

test('the calls of a turn are counted once, however many events are about them', () => {
  const count = 1_000
  const callIds = Array.from({ length: count }, (_, index) => `c${index}`)
  const asked = callIds.flatMap((callId) => [called(callId, { gated: true }), suspended(callId, 'approval')])
  const before = stateOf([said('t1'), replied('t1', 'm1', 1, { calls: callIds }), ...asked])
  let reads = 0
  const counting = (call: CallState) =>
    new Proxy(call, {
      get(target, name) {
        reads += 1
        return Reflect.get(target, name) as unknown
      },
    })
  const [turn] = before.turns
  const announcer = new Announcer({ ...before, turns: [{ ...turn!, calls: turn!.calls.map(counting) }] })
  const denied = placed(
    callIds.map((callId) => resolved(callId, 'approval', 'denied')),
    before.lastSeq,
  )
  const live = denied.flatMap((event) => announcer.next(event).live)
  expect(live.filter(({ type }) => type === 'tool_call_errored')).toHaveLength(count)
  expect(live.filter(({ type }) => type === 'phase_changed')).toHaveLength(1)
  expect(reads).toBeLessThan(50 * count)
})
