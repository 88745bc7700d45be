import type { Json } from '../../base/json.ts'
import type { CallState, TurnState } from '../../log/state.ts'

/** The call of another conversation that a conversation was started for. */
export type ParentCall = { readonly conversationId: string; readonly callId: string }

/** What an owner has done to other conversations: to those of its child agents, and to the one that waits for it. All of it can be repeated. */
export type Family = {
  /** Null when somebody talks to it. */
  readonly parent: ParentCall | null
  /** How long a cancel waits for the children to end. */
  readonly patienceMs: number
  /** Starts the child agent of a call. One that cannot be started ends its call. */
  start(call: CallState, turn: TurnState): Promise<void>
  /** Asks the child of a call to end. False when there is none, so that nobody will end the call. */
  cancel(callId: string, who: string): Promise<boolean>
  /** Ends the call that waits for this conversation, unless it has ended. `result` must follow from the committed log. */
  resolveParent(result: Json): Promise<void>
  /** While an owner only waits for its children, it takes no place from them. The returned function ends that. */
  makeRoom(): () => void
}
