import { describe, expect, test } from 'vitest'
import {
  called,
  changed,
  ended,
  failed,
  marked,
  placed,
  replacing,
  replied,
  resolved,
  said,
  started,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import { interruptedEnd } from '../log/call-phase.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { emptyState } from '../log/state.ts'
import { stateRefused } from '../log/validate-event.ts'
import {
  discloseEvents,
  discloseFlowOutcome,
  discloseLive,
  discloseMessages,
  discloseOutcome,
  discloseResolution,
  discloseSnapshot,
  discloseStanding,
  discloseState,
  discloseView,
  discloseWatched,
  everything,
} from './disclose.ts'
import { Announcer } from './live-events.ts'
import { viewOf } from './view-of.ts'

const hidden = { errors: false, withheld: false }
const secret = 'cannot reach postgres://app:hunter2@db'
const callPart = { type: 'call', callId: 'c0', name: 'query', args: {}, status: 'error', result: secret }

/** Everything that can fail, failing with a secret. */
const story: NewEvent[] = [
  { type: 'seeded', content: { state: { messages: [{ role: 'assistant', at: 0, parts: [callPart] }] } } },
  said('t1'),
  replied('t1', 'm1', 2, { calls: ['c1', 'c2', 'c3', 'c4'] }),
  called('c1'),
  called('c2', { executor: 'agent' }),
  called('c3', { gated: true }),
  called('c4'),
  started('c1'),
  suspended('c2', 'sub_agent'),
  suspended('c3', 'approval'),
  started('c4'),
  failed('c1', secret),
  resolved('c2', 'sub_agent', 'resolved', { value: { ok: false, error: `the agent 'child' failed: ${secret}` } }),
  resolved('c3', 'approval', 'denied', { value: { reason: 'too much' } }),
  failed('c4', `${secret}; an earlier attempt was interrupted and may have taken effect`, 'unknown'),
  withProviderError(replied('t1', 'm2', 15)),
  ended('t1', 'failed', `model_rejected: ${secret}`),
]

function withProviderError(event: NewEvent): NewEvent {
  if (event.type !== 'assistant_msg') throw new Error('no message')
  const part = { type: 'provider_result', providerCallId: 'p1', name: 'search', result: secret, isError: true } as const
  return { ...event, content: { ...event.content, parts: [...event.content.parts, part] } }
}

const events = placed(story)
const whole = foldEvents(events)

describe('what a page reads about a failure', () => {
  test('contains nothing that was thrown or answered, on any path', () => {
    expect(JSON.stringify(discloseEvents(events, hidden))).not.toContain('hunter2')
    expect(JSON.stringify(discloseView(viewOf('c', whole), hidden))).not.toContain('hunter2')
    expect(JSON.stringify(discloseMessages(viewOf('c', whole).messages, hidden))).not.toContain('hunter2')
    for (const live of announced()) expect(JSON.stringify(discloseLive(live, hidden))).not.toContain('hunter2')
    expect(announced().some((live) => JSON.stringify(live).includes('hunter2'))).toBe(true)
  })

  test('differs from what an operator reads in the texts of failures alone', () => {
    const asRead = (value: unknown) => withFailures(value, (text) => text.includes('hunter2'))
    const asShown = (value: unknown) =>
      withFailures(value, (text) => /^(It failed.*|the agent 'child' failed \(call .*|model_rejected)$/.test(text))
    const view = viewOf('c', whole)
    const seed = (story[0] as Extract<NewEvent, { type: 'seeded' }>).content.state
    expect(asShown(discloseEvents(events, hidden))).toEqual(asRead(events))
    expect(asShown(discloseView(view, hidden))).toEqual(asRead(view))
    expect(asShown(discloseState(whole, hidden))).toEqual(asRead(whole))
    expect(asShown(discloseMessages(view.messages, hidden))).toEqual(asRead(view.messages))
    expect(asShown(discloseSnapshot(seed, hidden))).toEqual(asRead(seed))
    for (const live of announced()) expect(asShown(discloseLive(live, hidden))).toEqual(asRead(live))
  })

  test('is not in an event that a later version wrote, nor is anything else of it', () => {
    const later = { ...events[0]!, type: 'from_the_future', content: { error: secret } } as unknown as LogEvent
    expect(discloseEvents([later], hidden)).toEqual([{ ...later, content: {} }])
    expect(discloseEvents([later], everything)).toEqual([later])
  })

  test('still says which event this version cannot read', () => {
    const view = { ...viewOf('c', whole), unknownEvent: { seq: 99, type: 'note', needs: '0.3.0' } }
    expect(discloseView(view, hidden).unknownEvent).toEqual(view.unknownEvent)
  })

  test('is the same in the log, in the view and in pages of the history', () => {
    const folded = foldEvents(discloseEvents(events, hidden))
    expect(folded).toEqual(discloseState(whole, hidden))
    const { messages } = viewOf('c', folded)
    expect(messages).toEqual(discloseView(viewOf('c', whole), hidden).messages)
    expect(messages).toEqual(discloseMessages(viewOf('c', whole).messages, hidden))
  })

  test('names the call, and whether it may have taken effect', () => {
    const shown = discloseView(viewOf('c', whole), hidden)
    expect(endsOf(shown)).toEqual({
      c1: "It failed (call 'c1').",
      c2: "the agent 'child' failed (call 'c2').",
      c3: 'tool call denied: too much',
      c4: "It failed and may have taken effect (call 'c4').",
    })
    expect(shown.log.turns[0]?.end?.reason).toBe('model_rejected')
  })

  test('does not change when it is disclosed twice', () => {
    const once = discloseEvents(events, hidden)
    expect(discloseEvents(once, hidden)).toEqual(once)
    const view = discloseView(viewOf('c', whole), hidden)
    expect(discloseView(view, hidden)).toBe(view)
  })

  test("is Perdure's own words where the log has those", () => {
    for (const own of [
      interruptedEnd.error,
      'timed out after 50 ms: its outcome is unknown; it may have taken effect',
      'cancelled before it was started',
    ]) {
      const [event] = discloseEvents(placed([failed('c1', own)]), hidden)
      expect(event?.content).toMatchObject({ error: own })
    }
  })

  test('keeps what a person said when they denied, and why a turn was halted', () => {
    const [halted] = discloseEvents(placed([ended('t1', 'halted', 'not our business')]), hidden)
    expect(halted?.content).toMatchObject({ reason: 'not our business' })
  })

  test('of a turn or a session that failed is its code, or that it failed', () => {
    const outcome = { status: 'failed', turnId: 't1', reason: `hook_failed: ${secret}` }
    expect(discloseOutcome(outcome, hidden)).toEqual({ ...outcome, reason: 'hook_failed' })
    expect(discloseOutcome({ ...outcome, reason: secret }, hidden).reason).toBe('internal_error')
    expect(discloseStanding({ status: 'failed', error: secret }, hidden).error).toBe('The session failed.')
    expect(discloseOutcome({ status: 'detached', reason: secret }, hidden).reason).not.toContain('hunter2')
    const step = { position: 3, ok: false, error: secret, code: 'flow_step_failed' } as const
    expect(discloseFlowOutcome(step, hidden)).toEqual({ ...step, error: "It failed (step '3')." })
    const flow = discloseEvents(
      placed([
        { type: 'flow_outcome', content: step },
        { type: 'flow_ended', content: { status: 'failed', error: secret } },
      ]),
      hidden,
    )
    expect(JSON.stringify(flow)).not.toContain('hunter2')
  })

  test('of the answer of an agent in a session that failed is its code; what only looks like one stays as a step returned it', () => {
    const answer = { status: 'failed', text: '', object: null, reason: `model_rejected: ${secret}` }
    const told = (value: Json) => discloseFlowOutcome({ position: 1, ok: true, value }, hidden)
    expect(told(answer)).toMatchObject({ value: { ...answer, reason: 'model_rejected' } })
    const { text: _text, ...withoutText } = answer
    const { object: _object, ...withoutObject } = answer
    for (const own of [
      { ...withoutText, note: '' },
      { ...withoutObject, note: '' },
      { ...answer, note: '' },
      { ...withoutText },
      { ...answer, status: 'completed' },
      { ...answer, reason: null },
      [answer],
      secret,
    ])
      expect(told(own)).toMatchObject({ value: own })
    expect(discloseFlowOutcome({ position: 1, ok: true, value: answer }, everything)).toMatchObject({ value: answer })
  })

  test('of an answer that came first has nothing that a child agent failed with', () => {
    const winner = {
      status: 'resolved',
      value: { ok: false, error: secret, usage: {} },
      who: 'agent:child',
      at: 1,
    } as const
    const shown = discloseResolution(winner, 'c2', hidden)
    expect(shown).toEqual({ ...winner, value: { ok: false, error: "It failed (call 'c2').", usage: {} } })
  })
})

test('what a watcher gets is disclosed as events, live events and views are', () => {
  for (const event of events) expect(discloseWatched(event, hidden)).toEqual(discloseEvents([event], hidden)[0])
  for (const live of announced()) expect(discloseWatched(live, hidden)).toEqual(discloseLive(live, hidden))
  const view = viewOf('c', whole)
  expect(discloseWatched({ type: 'snapshot', view }, hidden)).toEqual({
    type: 'snapshot',
    view: discloseView(view, hidden),
  })
})

test('failures of turns that were withdrawn are not told either, nor of what they were replaced by', () => {
  const log = placed([...story, replacing(2, 't2')])
  const withdrawn = foldEvents(log)
  expect(JSON.stringify(withdrawn)).toContain('hunter2')
  expect(JSON.stringify(discloseState(withdrawn, hidden))).not.toContain('hunter2')
  const replaced = foldEvents(placed([said('t2'), ended('t2')], log.length), withdrawn)
  const shown = discloseState(replaced, hidden)
  expect(JSON.stringify(replaced.turns)).toContain('hunter2')
  expect(JSON.stringify(shown.turns)).not.toContain('hunter2')
  expect(shown.turns[0]!.replaced!.calls.map(({ callId }) => callId)).toEqual(
    replaced.turns[0]!.replaced!.calls.map(({ callId }) => callId),
  )
})

test.each([
  [{ status: 'completed', reason: `ok: ${secret}` }, true],
  [{ status: 'failed' }, true],
  [{ status: 'failed', reason: `model_rejected: ${secret}` }, false],
  [{ status: 'detached', reason: `model_rejected: ${secret}` }, false],
])('the outcome %j stays the same object: %s', (outcome, isSame) => {
  expect(discloseOutcome(outcome, hidden) === outcome).toBe(isSame)
  expect(discloseOutcome(outcome, everything)).toBe(outcome)
})

test('an answer that was refused, and an error meant for people, are told as they are', () => {
  const denied = { status: 'denied', value: { ok: false, error: secret } } as const
  expect(discloseResolution(denied, 'c1', hidden)).toBe(denied)
  const meant = { status: 'failed', error: 'Your card was refused.', userFacing: true } as const
  expect(discloseStanding(meant, hidden)).toBe(meant)
})

test('a failure that is no text is told as one, in messages and in seeds', () => {
  const part = { type: 'provider_result', providerCallId: 'p1', name: 'search', result: { secret }, isError: true }
  const [event] = placed([replied('t1', 'm1', 1)])
  const message = { ...event, content: { ...event!.content, parts: [part] } } as unknown as LogEvent
  const [shown] = discloseEvents([message], hidden)
  expect(shown!.content).toMatchObject({ parts: [{ ...part, result: "It failed (call 'p1')." }] })
  const seed = (result: Json): Json => ({ messages: [{ role: 'assistant', at: 0, parts: [{ ...callPart, result }] }] })
  expect(discloseSnapshot(seed({ secret }), hidden)).toEqual(seed("It failed (call 'c0')."))
  for (const none of [null, 'text', 7, ['x']]) expect(discloseSnapshot(none, hidden)).toBe(none)
})

test('full disclosure returns the same objects', () => {
  const view = viewOf('c', whole)
  expect(discloseView(view, everything)).toBe(view)
  expect(discloseState(whole, everything)).toBe(whole)
  for (const [index, event] of discloseEvents(events, everything).entries()) expect(event).toBe(events[index])
  const snapshot = { messages: [{ parts: [callPart] }] }
  expect(discloseSnapshot(snapshot, everything)).toBe(snapshot)
  const frame = { type: 'snapshot', view } as const
  expect(discloseWatched(frame, everything)).toBe(frame)
})

function announced() {
  const announcer = new Announcer(emptyState)
  return events.flatMap((event: LogEvent) => announcer.next(event).live)
}

function endsOf({ messages }: ReturnType<typeof viewOf>): Record<string, unknown> {
  const calls = messages.flatMap((message) =>
    message.role === 'user' ? [] : message.parts.flatMap((part) => (part.type === 'call' ? [part] : [])),
  )
  return Object.fromEntries(calls.map(({ callId, end }) => [callId, end && !end.ok ? end.error : end]))
}

test('the reason why a turn of a snapshot failed is its code', () => {
  const turn = (status: string, reason: string | null) => ({ turnId: 't', status, reason })
  const snapshot = (failed: string) => ({ messages: [], turns: [turn('failed', failed), turn('halted', 'enough'), 7] })
  expect(discloseSnapshot(snapshot(`model_failed: ${secret}`), hidden)).toEqual(snapshot('model_failed'))
  expect(discloseSnapshot(snapshot(secret), hidden)).toEqual(snapshot('internal_error'))
  const harmless = snapshot('interrupted')
  expect(discloseSnapshot(harmless, hidden)).toBe(harmless)
  const replacing = (result: string, status = 'error') => ({
    messages: [],
    turns: [{ ...turn('completed', null), replaced: [{ ...callPart, status, result }] }],
  })
  expect(discloseSnapshot(replacing(secret), hidden)).toEqual(replacing("It failed (call 'c0')."))
  const done = replacing('done', 'ok')
  expect(discloseSnapshot(done, hidden)).toBe(done)
})

test('a message that no hook has passed is empty in events, wherever a page starts, and complete for operators', () => {
  const log = placed([said('t1'), marked('m1'), replied('t1', 'm1', 1, { object: 42 }), ended('t1', 'halted', 'no')])
  const shown = discloseEvents(log, hidden)
  expect(shown[2]!.content).toMatchObject({ messageId: 'm1', parts: [] })
  expect(shown[2]!.content).not.toHaveProperty('object')
  expect(discloseEvents(log.slice(2), hidden, log[1])).toEqual(shown.slice(2))
  expect(foldEvents(shown)).toEqual(foldEvents(log))
  expect(discloseEvents(log, { errors: false, withheld: true })[2]).toEqual(log[2])
})

test('URLs that a page must not open are not in folded turns either, also where errors are disclosed', () => {
  const parts = [{ type: 'file', mediaType: 'image/png', data: 'javascript:alert(1)' }] as const
  const [bad] = placed([
    { type: 'user_msg', content: { turnId: 't1', message: { parts }, options: {}, who: 'ann' } },
  ] as NewEvent[])
  const state = foldEvents([bad!])
  for (const disclosure of [everything, hidden]) {
    const shown = discloseState(state, disclosure)
    expect(shown).not.toBe(state)
    expect(JSON.stringify(shown)).not.toContain('javascript:')
    expect(JSON.stringify(discloseEvents([bad!], disclosure))).not.toContain('javascript:')
  }
})

test('URLs that a page must not open are dropped from injections, and the rest stays the same object', () => {
  const injected = (data: string): NewEvent => {
    const parts = [{ type: 'file', mediaType: 'image/png', data }] as const
    return { type: 'injection', content: { turnId: 't1', step: 1, hook: 'h', parts } }
  }
  const [good, bad] = placed([injected('https://example.com/a.png'), injected('javascript:alert(1)')])
  const [kept, changed] = discloseEvents([good!, bad!], hidden)
  expect(kept).toBe(good)
  expect(changed).not.toBe(bad)
  expect(JSON.stringify(changed)).not.toContain('javascript:')
})

describe("the application's state", () => {
  const log = placed([
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
    called('c1'),
    called('c2'),
    started('c1'),
    started('c2'),
    changed({ todos: ['tea'], plan: secret }),
    changed({ todos: ['milk'] }, { remove: ['old hunter2 key'] }),
    changed({ key: secret }, { callId: 'c1' }),
    stateRefused({ callId: 'c2', reason: secret }),
    succeeded('c2'),
  ])
  const state = foldEvents(log)

  test('has only its exposed keys in everything that leaves the server, and all of them for operators', () => {
    expect(state.appState?.values).toEqual({ todos: ['milk'], plan: secret })
    const shown = discloseState(state, hidden)
    expect(shown.appState?.values).toEqual({ todos: ['milk'] })
    for (const disclosed of [shown, discloseEvents(log, hidden), discloseView(viewOf('c', state), hidden)])
      expect(JSON.stringify(disclosed)).not.toContain('hunter2')
    const withErrors = { errors: true, withheld: false }
    expect(JSON.stringify(discloseState(state, withErrors).appState)).not.toContain('hunter2')
    expect(JSON.stringify(discloseState(state, withErrors).turns[0]?.calls[0])).not.toContain('hunter2')
    expect(discloseState(state, everything)).toBe(state)
    expect(discloseEvents(log, everything)).toEqual(log)
  })

  test('of a snapshot is only for operators', () => {
    const snapshot = { version: 3, messages: [], data: { plan: secret } }
    for (const disclosure of [hidden, { errors: true, withheld: false }]) {
      expect(discloseSnapshot(snapshot, disclosure)).toEqual({ version: 3, messages: [] })
    }
    expect(discloseSnapshot(snapshot, everything)).toBe(snapshot)
  })

  test('is the same whether events or their fold are disclosed', () => {
    expect(foldEvents(discloseEvents(log, hidden))).toEqual(discloseState(state, hidden))
    const once = discloseState(state, hidden)
    expect(discloseState(once, hidden)).toBe(once)
  })

  test('shows in a view only as far as it is exposed, also in this process', () => {
    expect(viewOf('c', state).state).toEqual({ todos: ['milk'] })
    expect(viewOf('c', emptyState).state).toBeNull()
  })
})

/** A copy in which each text of a failure is the same. */
function withFailures(value: unknown, isFailure: (text: string) => boolean): unknown {
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' && isFailure(part) ? 'failed' : part))
}
