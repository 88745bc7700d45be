import { describe, expect, test } from 'vitest'
import { generateLog } from '../../test/context/log-generator.ts'
import { seededRandom } from '../../test/faults/harness/seeded-random.ts'
import {
  called,
  cancelled,
  ended,
  marked,
  placed,
  regenerated,
  replied,
  resolved,
  said,
  started,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { noReduction, type Reduction } from './budget/reduce.ts'
import { evictionsOf, explain as explainWith, seenBy, shapedIn } from './explain.ts'
import { renderContext } from './render/render-context.ts'

const rowOf = (seen: number, reduction: Reduction = noReduction) => ({
  evictions: { seen, evicted: evictionsOf(reduction), prefix: null } as Json,
})

function explain(events: readonly LogEvent[], call: { readonly evictions: Json }) {
  const seen = seenBy(call) ?? events.length
  return explainWith(events, call, foldEvents(events.filter(({ seq }) => seq <= seen)))
}

function shownIn(events: readonly NewEvent[], seen: number, reduction?: Reduction): string[] {
  return explain(placed(events), rowOf(seen, reduction)).map(({ type, shown }) => `${type} ${shown}`)
}

describe('explaining a call', () => {
  const turn = [
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1', { gated: true }),
    suspended('c1', 'approval'),
    resolved('c1', 'approval', 'resolved', { value: true }),
    started('c1'),
    succeeded('c1'),
    replied('t1', 'm2', 7),
    ended('t1'),
    said('t2'),
  ]

  test('tells what is in the window, what models are never told, and what came later', () => {
    expect(shownIn(turn, 7)).toEqual([
      'user_msg verbatim',
      'assistant_msg verbatim',
      'tool_call verbatim',
      'suspension not_shown',
      'resolution not_shown',
      'tool_started not_shown',
      'tool_result verbatim',
      'assistant_msg not_shown',
      'turn_ended not_shown',
      'user_msg not_shown',
    ])
    expect(explain(placed(turn), rowOf(7)).at(-1)?.why).toBe('it came after this call')
  })

  test('tells what is stubbed, and keeps the call beside it', () => {
    const reduction = { ...noReduction, stubbed: new Map([['c1', 'it is old']]) }
    const told = explain(placed(turn), rowOf(10, reduction))
    expect(told[2]).toMatchObject({ type: 'tool_call', shown: 'verbatim' })
    expect(told[6]).toEqual({ seq: 7, type: 'tool_result', shown: 'stubbed', why: 'it is old' })
  })

  test.each<[string, Partial<Reduction>, string]>([
    [
      'summarised',
      { summary: { toSeq: 9, version: 3, text: 'x' } },
      'version 3 of the summary covers the turns that ended by 9',
    ],
    ['outside_window', { windowFrom: 10 }, 'the budget was full, and turns that began before 10 were left out'],
  ])('tells what is %s', (shown, reduction, why) => {
    const told = explain(placed(turn), rowOf(10, { ...noReduction, ...reduction }))
    for (const explanation of told.slice(0, 9)) expect(explanation).toMatchObject({ shown, why })
    expect(told[9]).toMatchObject({ shown: 'verbatim' })
  })

  test('tells of messages that are replaced, empty, cut off or queued', () => {
    const events = [
      said('t1'),
      replied('t1', 'm1', 1),
      regenerated('m1'),
      replied('t1', 'm2', 3, { parts: [{ type: 'reasoning', text: 'hm' }] }),
      said('t2'),
      cancelled('t1'),
      replied('t1', 'm3', 3, { status: 'cancelled' }),
      marked('m4'),
      replied('t1', 'm4', 3),
    ]
    expect(explain(placed(events), rowOf(9)).map(({ why }) => why)).toEqual([
      'its turn is in the window',
      'it was regenerated',
      'its feedback replaces the message',
      'it has no content to show',
      'its turn was queued',
      'events of this type are not part of a prompt',
      'it is marked as cut off: cancelled',
      'events of this type are not part of a prompt',
      "it was withheld: the hook 'guard' did not pass it",
    ])
  })

  test('of a call whose messages a hook gave says so, for what would have been in the prompt', () => {
    const shaped = [
      { hook: 'first', messages: 3 },
      { hook: 'last', messages: 1 },
      { hook: 'tools', tools: [] },
    ]
    const row = { evictions: { seen: 9, evicted: [], shaped } }
    expect(explain(placed(turn.slice(0, 2)), row).map(({ shown, why }) => `${shown}: ${why}`)).toEqual([
      "shaped: the hook 'last' decided which messages the model saw",
      "shaped: the hook 'last' decided which messages the model saw",
    ])
    const others = { evictions: { seen: 9, evicted: [], shaped: [{ hook: 'tools', tools: [] }, null, 7, {}] } }
    expect(explain(placed(turn.slice(0, 1)), others)[0]).toMatchObject({ shown: 'verbatim' })
    expect(shapedIn(others)).toEqual([{ hook: 'tools', tools: [] }])
    expect([shapedIn({ evictions: null }), shapedIn({ evictions: { shaped: 'all' } })]).toEqual([[], []])
  })

  test('of an old row without details says at least what it can', () => {
    expect(explain(placed(turn.slice(0, 2)), { evictions: null }).map(({ shown }) => shown)).toEqual([
      'verbatim',
      'verbatim',
    ])
  })
})

test('over generated logs, what is told to be verbatim is in the prompt, and what is not is not', () => {
  let checked = 0
  for (let n = 0; n < 60; n++) {
    const random = seededRandom(31_000 + n)
    const log = generateLog(random).log.map(named)
    const state = foldEvents(log)
    const calls = state.turns.flatMap((turn) => turn.calls)
    const reduction: Reduction = {
      summary: random.chance(0.5) ? { toSeq: random.int(0, log.length), version: 1, text: 'they talked' } : null,
      windowFrom: random.int(0, log.length),
      stubbed: new Map(calls.filter(() => random.chance(0.5)).map((call) => [call.callId, 'old'])),
    }
    const prompt = JSON.stringify(
      renderContext(state, { system: '', model: { provider: 'x', modelId: 'x' }, reduction }),
    )
    for (const { seq, shown } of explain(log, rowOf(log.length, reduction))) {
      const mark = markOf(log[seq - 1]!)
      if (mark === null) continue
      checked += 1
      expect([n, seq, shown === 'verbatim']).toEqual([n, seq, prompt.includes(mark)])
    }
  }
  expect(checked).toBeGreaterThan(500)
})

const markFor = (seq: number) => `<event ${seq}>`

/** Users, models and tools say which event they are of. */
function named(event: LogEvent): LogEvent {
  const text = { type: 'text' as const, text: markFor(event.seq) }
  if (event.type === 'user_msg') return { ...event, content: { ...event.content, message: { parts: [text] } } }
  if (event.type === 'assistant_msg')
    return { ...event, content: { ...event.content, parts: [...event.content.parts, text] } }
  if (event.type !== 'tool_result') return event
  const { callId } = event.content
  return { ...event, content: { callId, ok: true, result: markFor(event.seq) } }
}

function markOf({ seq, type }: LogEvent): string | null {
  return ['user_msg', 'assistant_msg', 'tool_result'].includes(type) ? markFor(seq) : null
}
