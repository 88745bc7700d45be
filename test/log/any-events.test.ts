import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answerableOps, foldFlow, openOps, pendingOp } from '../../src/engine/flow/flow-state.ts'
import { tentative } from '../../src/log/decide.ts'
import type { NewEvent } from '../../src/log/events.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { fsmStateOf } from '../../src/log/fsm-state.ts'
import { nextStep } from '../../src/log/next-step.ts'
import { type Outcome, settle } from '../../src/log/settle.ts'
import { type ConversationState, emptyState, openTurn } from '../../src/log/state.ts'
import { validateEvent } from '../../src/log/validate-event.ts'
import { discloseEvents, discloseState } from '../../src/view/disclose.ts'
import { projectView } from '../../src/view/growing-view.ts'
import { Announcer } from '../../src/view/live-events.ts'
import { viewOf } from '../../src/view/view-of.ts'
import { checkPrompts } from '../context/check-prompts.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { anyConversation, anyEvents, anySession } from './any-events.ts'
import { placed } from './story.ts'

const runs = { numRuns: 300, seed: 1 }

test('what is generated is well-formed', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      for (const event of events) validateEvent(event)
    }),
    runs,
  )
})

test('any well-formed events fold, all at once or one by one', () => {
  fc.assert(
    fc.property(fc.oneof(anyConversation, anyEvents), (events) => {
      const log = placed(events)
      let state = emptyState
      for (const event of log) state = foldEvents([event], state)
      expect(state.lastSeq).toBe(log.length)
      expect(foldEvents(log)).toEqual(state)
    }),
    runs,
  )
})

test('any well-formed events are shown, the same as a snapshot and as a tail', () => {
  fc.assert(
    fc.property(fc.oneof(anyConversation, anyEvents), (events) => {
      let state = emptyState
      let view = viewOf('story', state)
      for (const event of placed(events)) {
        const announcer = new Announcer(state)
        announcer.next(event)
        state = announcer.state()
        view = projectView(view, event)
        fsmStateOf(state)
      }
      expect(view).toEqual(viewOf('story', state))
      expect(JSON.parse(JSON.stringify(view)).seq).toBe(events.length)
    }),
    runs,
  )
})

test('any well-formed events are disclosed, the same as events and as what they fold to', () => {
  fc.assert(
    fc.property(fc.oneof(anyConversation, anyEvents), fc.boolean(), (events, errors) => {
      const log = placed(withMarkedMessages(events))
      const disclosure = { errors, withheld: false }
      expect(foldEvents(discloseEvents(log, disclosure))).toEqual(discloseState(foldEvents(log), disclosure))
    }),
    runs,
  )
})

/** Messages with ids of their own, and marks only right before theirs, as every writer puts them. */
function withMarkedMessages(events: readonly NewEvent[]): NewEvent[] {
  const known = new Set<string>()
  const once = events.filter((event) => {
    if (event.type !== 'assistant_msg') return true
    const isNew = !known.has(event.content.messageId)
    known.add(event.content.messageId)
    return isNew
  })
  return once.filter((event, index) => {
    const next = once[index + 1]
    return (
      event.type !== 'withheld' ||
      (next?.type === 'assistant_msg' && next.content.messageId === event.content.messageId)
    )
  })
}

test('any well-formed events render to prompts that providers accept', () => {
  fc.assert(
    fc.property(fc.oneof(anyConversation, anyEvents), fc.nat(), (events, seed) => {
      const generated = { log: placed(events), calls: [], hasCrashed: false, isForked: false, isRestored: false }
      expect(checkPrompts(generated, seededRandom(seed)).problems).toEqual([])
    }),
    { ...runs, numRuns: 100 },
  )
})

test('whatever the log, the owner comes to rest, and a cancel ends the turn', () => {
  fc.assert(
    fc.property(anyConversation, (events) => {
      const rested = atRest(foldEvents(placed(events)), [])
      const turn = openTurn(rested)
      if (!turn) return
      const { turnId } = turn
      const asked: NewEvent = { type: 'cancel_requested', content: { turnId, who: 'ann' } }
      const after = atRest(folded(rested, [asked]), [{ type: 'cancel', turnId }])
      expect(after.turns.findLast((candidate) => candidate.firstSeq === turn.firstSeq)?.end).toMatchObject({
        status: 'cancelled',
      })
    }),
    runs,
  )
})

test('any well-formed events of a session fold to a record that is whole', () => {
  fc.assert(
    fc.property(fc.oneof(anySession, anyEvents), (events) => {
      const log = placed(events)
      const state = foldFlow(log)
      if (!state) return
      expect(state.lastSeq).toBe(log.length)
      expect(state.ops.map(({ position }) => position)).toEqual(state.ops.map((_, index) => index + 1))
      const settled = state.outcomes.map(({ position }) => position)
      expect(new Set(settled).size).toBe(settled.length)
      expect(settled.every((position) => position <= state.ops.length)).toBe(true)
      openOps(state)
      answerableOps(state)
      pendingOp(state)
    }),
    runs,
  )
})

/** What `decide` does, with a limit to how often it may go round. */
function atRest(state: ConversationState, outcomes: readonly Outcome[]): ConversationState {
  const running = new Set<string>()
  let after = state
  for (const outcome of outcomes) after = folded(after, settle(after, outcome))
  for (let round = 0; round < 50; round++) {
    const step = nextStep(after, running)
    if (step.type !== 'commit') return after
    for (const event of step.events) if (event.type === 'tool_started') running.add(event.content.callId)
    after = folded(after, step.events)
  }
  throw new Error('the owner goes round in circles')
}

function folded(state: ConversationState, events: readonly NewEvent[]): ConversationState {
  return foldEvents(tentative(events, state.lastSeq), state)
}
