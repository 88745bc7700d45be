import { PerdureError } from '../base/errors/perdure-error.ts'
import type { ModelCallSummary } from '../client/pages.ts'
import type { ConversationStore } from './conversation-store.ts'
import { keepIdentity } from './keep-identity.ts'
import type { Link } from './link.ts'
import { type LiveStatus, LiveStore, statusOf } from './live-store.ts'

/** The audit of a conversation. */
export type ModelCallsSnapshot = {
  readonly calls: readonly ModelCallSummary[]
  readonly status: LiveStatus
  readonly error: unknown
}

export const noModelCalls: ModelCallsSnapshot = { calls: [], status: 'loading', error: null }

/** The model calls of one conversation. Read again when its log has grown. */
export class ModelCallsStore {
  readonly live: LiveStore<ModelCallsSnapshot>
  readonly #link: Link
  readonly #conversation: ConversationStore
  #isReading = false
  #isStale = false

  constructor(link: Link, conversation: ConversationStore) {
    this.#link = link
    this.#conversation = conversation
    this.live = new LiveStore(link.tab, noModelCalls, () => this.#follow())
  }

  readonly reload = (): Promise<void> => this.#read()

  #follow(): () => void {
    let seq = this.#conversation.live.value.view?.seq
    void this.#read()
    return this.#conversation.live.subscribe(() => {
      const { view } = this.#conversation.live.value
      if (!view || view.seq === seq) return
      seq = view.seq
      // An empty log: the conversation was deleted, or has not begun.
      if (seq > 0) void this.#read()
    })
  }

  /** One request at a time; another follows if the log has grown since. */
  async #read(): Promise<void> {
    // A conversation that was deleted here has nothing to read.
    if (this.#conversation.live.value.status === 'gone') return
    this.#isStale = true
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#isStale) {
        this.#isStale = false
        const calls = await this.#link.client.conversation(this.#conversation.id).modelCalls()
        const kept = keepIdentity(this.live.value.calls, calls)
        this.live.set({ calls: kept, status: 'live', error: null })
      }
    } catch (error) {
      if (!PerdureError.isInstance(error)) throw error
      this.live.set({ ...this.live.value, status: statusOf(error, this.live.value.status === 'live'), error })
    } finally {
      this.#isReading = false
    }
  }
}
