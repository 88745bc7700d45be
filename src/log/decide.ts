import type { LogEvent, NewEvent, TurnEnded } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { nextStep, type Step } from './next-step.ts'
import { type Outcome, settle } from './settle.ts'
import type { ConversationState } from './state.ts'

export type Decision = {
  /** Append these in one commit. */
  readonly events: readonly NewEvent[]
  /** The state after that commit. */
  readonly after: ConversationState
  /** The step after that commit; never `commit`. */
  readonly step: Exclude<Step, { type: 'commit' }>
}

/**
 * Settles the outcomes at hand and adds everything that follows from them to the same commit: a message with its calls, suspensions and starts, or a message
 * with the turn's end. A call that is started here counts as running, because it will run as soon as the commit is durable.
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

/** The `turn_ended` of this turn among the events. */
export function endOf(turnId: string | null, events: readonly NewEvent[]): TurnEnded | null {
  for (const event of events) if (event.type === 'turn_ended' && event.content.turnId === turnId) return event.content
  return null
}

/** The events as they will stand in the log. `at` is 0: the store assigns it, and no decision depends on it. */
export function tentative(events: readonly NewEvent[], lastSeq: number): LogEvent[] {
  return events.map((event, index) => ({ ...event, conversationId: '', seq: lastSeq + 1 + index, at: 0 }))
}
