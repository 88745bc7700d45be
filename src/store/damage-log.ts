import type { Logger } from '../base/logger.ts'
import { conversationKey } from './conversation-key.ts'
import type { UnreadableColumn } from './conversation-record.ts'

const remembered = 1_000

/** Tells of each damaged conversation once, however often it is listed. */
export class DamageLog {
  readonly #logger: Logger
  readonly #told = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  tell(tenant: string, id: string, columns: readonly UnreadableColumn[]): void {
    const key = conversationKey(tenant, id)
    if (this.#told.has(key)) return
    if (this.#told.size === remembered) this.#told.clear()
    this.#told.add(key)
    this.#logger.error('the row of a conversation is damaged; run perdure doctor', { tenant, id, columns })
  }
}
