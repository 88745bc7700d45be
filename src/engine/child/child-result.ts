import type { Json } from '../../base/json.ts'
import { callEnd } from '../../log/call-phase.ts'
import type { TurnEnded } from '../../log/events.ts'
import { keptMessages, type TurnState } from '../../log/state.ts'
import { usageOf } from '../../log/turn-usage.ts'

/** How an error begins that stands for a result which the parent's log cannot hold. */
export const unrecordable = 'its result cannot be recorded'

/** What a child agent's turn is to the call it was started for: its object, what it was to call, or its text; else why there is none. */
export function childResult(
  agent: string,
  turn: TurnState,
  { status, reason }: Pick<TurnEnded, 'status' | 'reason'>,
): Json {
  const usage = { ...usageOf(turn) }
  if (status === 'completed') return { ok: true, result: resultOf(turn, reason), usage }
  const what = status === 'cancelled' ? 'was cancelled' : status === 'halted' ? 'was halted' : 'failed'
  const why = status === 'failed' ? failureTold(turn, reason) : reason
  return { ok: false, error: `the agent '${agent}' ${what}${why === null ? '' : `: ${why}`}`, usage }
}

/** A hook's error may quote the message it judged. Where that message is withheld, the parent gets the code alone. */
function failureTold(turn: TurnState, reason: string | null): string | null {
  return keptMessages(turn).at(-1)?.withheld ? (reason?.split(':', 1)[0] ?? null) : reason
}

function resultOf(turn: TurnState, reason: string | null): Json {
  const last = keptMessages(turn).at(-1)
  if (last?.object !== undefined) return last.object
  if (reason === 'until_tool') {
    const ended = turn.calls.findLast((call) => call.name === turn.options.untilTool && callEnd(call)?.ok)
    const end = ended && callEnd(ended)
    if (end?.ok) return end.result
  }
  return (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}
