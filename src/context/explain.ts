import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { type ConversationState, emptyState, type TurnState } from '../log/state.ts'
import type { ModelCall } from '../store/model-call.ts'
import type { Evictions } from './reduction.ts'

/** How one event was in one prompt. */
export type Explanation = {
  readonly seq: number
  readonly type: string
  readonly shown: 'verbatim' | 'stubbed' | 'summarised' | 'outside_window' | 'not_shown'
  readonly why: string
}

/** Answers "why did it forget that?": for each event the call could have seen, how it was in its prompt. Pure. */
export function explain(
  events: readonly LogEvent[],
  call: Pick<ModelCall, 'renderedContext' | 'evictions'>,
): Explanation[] {
  const { seen } = (call.renderedContext ?? {}) as { readonly seen?: number }
  const evictions = (call.evictions ?? { summaryToSeq: null, windowFrom: 0, stubbed: [] }) as unknown as Evictions
  const known = events.filter((event) => seen === undefined || event.seq <= seen)
  const state = foldEvents(known, { ...emptyState, lastSeq: (known[0]?.seq ?? 1) - 1 })
  const turnOf = turnFinder(state)
  return known.map((event) => ({ seq: event.seq, type: event.type, ...explainEvent(event, turnOf(event), evictions) }))
}

function explainEvent(
  event: LogEvent,
  turn: TurnState | undefined,
  { summaryToSeq, windowFrom, stubbed }: Evictions,
): Pick<Explanation, 'shown' | 'why'> {
  if (!turn) return { shown: 'not_shown', why: 'the model is not told of it' }
  if (!turn.opened) return { shown: 'not_shown', why: 'its turn was still queued' }
  if (summaryToSeq !== null && turn.end && turn.end.seq <= summaryToSeq) {
    return { shown: 'summarised', why: `its turn is covered by the summary up to ${summaryToSeq}` }
  }
  if (turn.firstSeq < windowFrom && turn.end) {
    return { shown: 'outside_window', why: `its turn began before ${windowFrom}, where the window begins` }
  }
  switch (event.type) {
    case 'user_msg':
    case 'injection':
    case 'tool_call':
      return { shown: 'verbatim', why: 'it is in the window' }
    case 'assistant_msg': {
      const item = turn.items.find((candidate) => candidate.seq === event.seq)
      const isReplaced = item?.type === 'assistant' && item.regeneration !== null
      if (isReplaced) return { shown: 'not_shown', why: 'the message was regenerated' }
      return { shown: 'verbatim', why: 'it is in the window' }
    }
    case 'tool_result':
    case 'resolution':
      if (stubbed.includes(event.content.callId))
        return { shown: 'stubbed', why: 'the retention of its tool had passed' }
      return { shown: 'verbatim', why: 'it is in the window' }
    case 'regeneration':
      return { shown: 'verbatim', why: 'its feedback is in the window' }
    default:
      return { shown: 'not_shown', why: 'the model is not told of it' }
  }
}

function turnFinder(state: ConversationState): (event: LogEvent) => TurnState | undefined {
  const byName = new Map<string, TurnState>()
  for (const turn of state.turns) {
    byName.set(turn.turnId, turn)
    for (const call of turn.calls) byName.set(call.callId, turn)
    for (const item of turn.items) if (item.type === 'assistant') byName.set(item.messageId, turn)
  }
  return ({ content }) => {
    const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
    return byName.get(turnId ?? callId ?? messageId ?? '')
  }
}
