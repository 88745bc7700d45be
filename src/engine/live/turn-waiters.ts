import type { Logger } from '../../base/logger.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Store } from '../../store/store.ts'

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
