import type { LogEvent, NewEvent, TurnEnded } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { nextStep, type Step } from './next-step.ts'
import { type Outcome, settle } from './settle.ts'
import type { ConversationState } from './state.ts'

export type Decision = {
  /** To be appended in one commit. */
  readonly events: readonly NewEvent[]
  /** The state once they are. */
  readonly after: ConversationState
  /** What to do then; never `commit`. */
  readonly step: Exclude<Step, { type: 'commit' }>
}

/**
 * Settles the outcomes in hand and folds what follows from them into the same commit: a message with its calls, suspensions and starts, or a
 * message with the turn's end. A call that is started here counts as running, because it will be as soon as the commit is durable.
 */
export function decide(state: ConversationState, running: ReadonlySet<string>, outcomes: readonly Outcome[]): Decision {
  const events: NewEvent[] = []
  const runningThen = new Set(running)
  let after = state
  const append = (added: readonly NewEvent[]): void => {
    events.push(...added)
    after = foldEvents(tentative(added, after.lastSeq), after)
    for (const event of added) {
      if (event.type === 'tool_started') runningThen.add(event.content.callId)
      if (event.type === 'tool_result') runningThen.delete(event.content.callId)
    }
  }
  for (const outcome of outcomes) append(settle(after, outcome))
  for (;;) {
    const step = nextStep(after, runningThen)
    if (step.type !== 'commit') return { events, after, step }
    append(step.events)
  }
}

/** The end of that turn among some events. */
export function endOf(turnId: string | null, events: readonly NewEvent[]): TurnEnded | null {
  for (const event of events) if (event.type === 'turn_ended' && event.content.turnId === turnId) return event.content
  return null
}

/** `at` is the store's to give; nothing is decided by it. */
export function tentative(events: readonly NewEvent[], lastSeq: number): LogEvent[] {
  return events.map((event, index) => ({ ...event, conversationId: '', seq: lastSeq + 1 + index, at: 0 }))
}
