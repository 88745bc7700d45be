import type { Json } from '../base/json.ts'
import type { ConversationState } from '../log/state.ts'

/** A derived text that stands for a span of the log. `toSeq` ends a turn. */
export type Summary = {
  readonly fromSeq: number
  readonly toSeq: number
  readonly content: Json
  readonly version: number
  /** Title, last seq and unfinished turns at `toSeq`, so that revival reads nothing before it. */
  readonly base: ConversationState | null
}

/** What a log can be read on from after a summary: null where its base is not a state at `toSeq`, and then the log is read whole. */
export function usableBase({ base, toSeq }: Pick<Summary, 'base' | 'toSeq'>): ConversationState | null {
  return base?.lastSeq === toSeq && Array.isArray(base.turns) ? base : null
}
