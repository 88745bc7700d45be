import type { Json } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { TurnStatus, Usage } from '../../log/events.ts'
import { type ConversationState, findTurn, keptMessages, openTurn, type TurnState, usageOf } from '../../log/state.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { noChildren } from '../../view/live-events.ts'
import type { Children, PendingItem } from '../../view/view.ts'
import { isWaiting, pendingItems } from '../../view/view-of.ts'

/** The outcome of a turn that cannot continue by itself. */
export type TurnOutcome<Pending = PendingItem, Output = unknown> =
  | { readonly status: 'waiting'; readonly turnId: string; readonly pending: readonly Pending[] }
  | (Ended & { readonly status: 'completed'; readonly object: Output })
  | (Ended & { readonly status: Exclude<TurnStatus, 'completed'> })
  /** This process will not see the end: the runtime was closed, the conversation deleted, or its log cannot be read here. */
  | { readonly status: 'detached'; readonly turnId: string; readonly reason: string }

type Ended = {
  readonly turnId: string
  /** Of the last message. */
  readonly text: string
  /** Of the last message: why it ended. `length` and `content-filter` say that `text` is incomplete. Null when there is no message. */
  readonly finishReason: string | null
  readonly reason: string | null
  /** With that of its child agents. */
  readonly usage: Usage
}

/** Whether a state contains the outcome of the turn: it has the turn, and all of its last message. */
export function isToldBy(state: ConversationState, turnId: string): boolean {
  const turn = findTurn(state, turnId)
  return turn !== null && !(turn.end && keptMessages(turn).at(-1)?.leftOut)
}

/** Null while the turn runs, here or in a child agent, or is queued. */
export function outcomeOf(
  conversationId: string,
  state: ConversationState,
  turnId: string,
  children: Children = noChildren,
): TurnOutcome | null {
  const turn = findTurn(state, turnId)
  if (!turn) return null
  if (turn.end) return endedOutcome(turn, turn.end)
  if (openTurn(state) !== turn || !isWaiting(state, children)) return null
  return { status: 'waiting', turnId, pending: [...pendingItems(conversationId, state), ...children.pending] }
}

function endedOutcome(turn: TurnState, { status, reason }: NonNullable<TurnState['end']>): TurnOutcome {
  const last = keptMessages(turn).at(-1)
  const text = (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
  const ended = { turnId: turn.turnId, text, finishReason: last?.finishReason ?? null, reason, usage: usageOf(turn) }
  return status === 'completed' ? { ...ended, status, object: last?.object as Json } : { ...ended, status }
}

type Waiting = { readonly session: ConversationRef; readonly hasEnded: () => Promise<boolean> }

/**
 * Sessions that wait for a turn of a conversation, as far as this process knows. It wakes them when the turn has ended; when it is not there to do so,
 * they look again by themselves after a while.
 */
export class TurnWaiters {
  readonly #store: Store
  readonly #logger: Logger
  /** Resolves when this process does not hold the session. */
  readonly #letGo: (session: ConversationRef) => Promise<unknown>
  readonly #waiting = new Map<string, Map<string, Waiting>>()

  constructor(store: Store, logger: Logger, letGo: (session: ConversationRef) => Promise<unknown>) {
    this.#store = store
    this.#logger = logger
    this.#letGo = letGo
  }

  wait(conversation: ConversationRef, session: ConversationRef, hasEnded: () => Promise<boolean>): void {
    const waiting = this.#waiting.get(keyOf(conversation)) ?? new Map<string, Waiting>()
    this.#waiting.set(keyOf(conversation), waiting.set(keyOf(session), { session, hasEnded }))
  }

  hint(conversation: ConversationRef): void {
    for (const waiting of this.#waiting.get(keyOf(conversation))?.values() ?? []) {
      this.#wakeIfEnded(conversation, waiting).catch((error) =>
        this.#logger.warn('a session could not be woken; it looks again by itself', { ...waiting.session, error }),
      )
    }
  }

  async #wakeIfEnded(conversation: ConversationRef, { session, hasEnded }: Waiting): Promise<void> {
    if (!(await hasEnded())) return
    this.#forget(conversation, session)
    // Parking sets the wake-up, so ours must come after it.
    await this.#letGo(session)
    await this.#store.forTenant(session.tenant).commit(session.id, { events: [], wakeAt: 'now' })
  }

  #forget(conversation: ConversationRef, session: ConversationRef): void {
    const waiting = this.#waiting.get(keyOf(conversation))
    waiting?.delete(keyOf(session))
    if (waiting?.size === 0) this.#waiting.delete(keyOf(conversation))
  }
}

function keyOf({ tenant, id }: ConversationRef): string {
  return conversationKey(tenant, id)
}
