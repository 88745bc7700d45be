import { createHash } from 'node:crypto'
import type {
  AgentInputItem,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'
import { InvalidArgumentError, SessionChangedError } from '../base/errors/store-errors.ts'
import { isSameJson, type Json, type JsonObject } from '../base/json.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import { decode, encode } from '../log/codec.ts'
import { mostCharacters, RecordLog } from '../store/record-log.ts'
import type { TenantStore } from '../store/store.ts'

/** A session of OpenAI Agents whose changes are atomic, and happen once for each operation id. */
export type PerdureSession = SessionHistoryTransactionAwareSession & {
  applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void>
}

/** Options of `perdureSession`. */
export type PerdureSessionOptions = {
  /** How many items `getItems()` returns at most, the newest. Default: all since the session was cleared. */
  readonly maxItems?: number
}

/** A change of the history: the newest `drop` items go, or all, and `items` follow. Nothing is taken from the log. */
type HistoryChange = { readonly drop: number | 'all'; readonly items: readonly JsonObject[] }

const sessionAgent = 'openai-agents'

/**
 * A session of OpenAI Agents in any Perdure store: `store` is a store, or what its `forTenant` returns. Each change is one commit to a log, which is on disk when
 * it resolves. The store is not closed by the session.
 */
export function perdureSession(store: TenantStore, id: string, options: PerdureSessionOptions = {}): PerdureSession {
  const { maxItems = Number.POSITIVE_INFINITY } = options
  const isCount = maxItems === Number.POSITIVE_INFINITY || (Number.isSafeInteger(maxItems) && maxItems > 0)
  if (!isCount) throw new InvalidArgumentError('maxItems', 'must be a whole number above 0')
  const log = new RecordLog({ store, id: `${sessionAgent}/${id}`, name: sessionAgent, read: readChange })

  const read = (limit: number, through?: number) => newestItems(log, id, limit, through)
  const append = (items: readonly JsonObject[]) => log.append({ drop: 0, items }, { key: `change/${uuidV7()}` })

  return {
    getSessionId: async () => id,

    async getItems(limit = maxItems) {
      return (await read(limit)) as unknown as AgentInputItem[]
    },

    async addItems(items) {
      if (items.length > 0) await append(itemsOf(items))
    },

    async popItem() {
      for (;;) {
        const end = await log.end()
        const [item] = end ? await read(1, end.seq) : []
        if (!item) return undefined
        const { ok } = await log.append({ drop: 1, items: [] }, { key: `change/${uuidV7()}`, after: end })
        // Otherwise another change came first, and the newest item may be another one.
        if (ok) return item as unknown as AgentInputItem
      }
    },

    async clearSession() {
      if (await log.end()) await log.append({ drop: 'all', items: [] }, { key: `change/${uuidV7()}` })
    },

    async applyHistoryTransaction(args) {
      const { operationId, transaction } = args
      if (typeof operationId !== 'string' || operationId.trim() === '') {
        throw new InvalidArgumentError('operationId', 'must be a text that is not empty')
      }
      const isReplacement = transaction.type === 'replace_suffix'
      const suffix = isReplacement ? itemsOf(transaction.expectedSuffix) : []
      const items = itemsOf(isReplacement ? transaction.replacement : transaction.items)
      const change: HistoryChange = { drop: suffix.length, items }
      const said = encode([transaction.type, suffix, items])
      const once = { key: `operation/${operationId}`, digest: createHash('sha256').update(said).digest('hex') }
      for (;;) {
        const end = await log.end()
        if (suffix.length > 0) {
          // An operation that was applied has changed the end that it looked for.
          if (end && (await log.wasApplied(once))) return
          const newest = end ? await read(suffix.length, end.seq) : []
          if (!isSameJson(newest, suffix)) throw new SessionChangedError(id)
        }
        const { ok } = await log.append(change, suffix.length > 0 ? { ...once, after: end } : once)
        if (ok) return
      }
    },
  }
}

/** In the order of the history. Reads pages from the end of the log, and stops when it has enough. */
async function newestItems(
  log: RecordLog<HistoryChange>,
  id: string,
  limit: number,
  through?: number,
): Promise<JsonObject[]> {
  const found: JsonObject[] = []
  let [dropped, characters] = [0, 0]
  if (limit <= 0) return found
  for await (const { record, characters: more } of log.newestFirst(through)) {
    characters += more
    if (characters > mostCharacters) {
      const reason = `has more than ${mostCharacters} characters; pass maxItems to perdureSession, or a limit`
      throw new InvalidArgumentError(`session '${id}'`, reason)
    }
    for (const item of record.items.toReversed()) {
      if (dropped > 0) dropped -= 1
      else found.push(item)
      if (found.length === limit) return found.reverse()
    }
    if (record.drop === 'all') break
    dropped += record.drop
  }
  return found.reverse()
}

/** A copy as JSON. What JSON cannot keep, such as bytes, is refused; members that are undefined are left out. */
function itemsOf(items: readonly AgentInputItem[]): JsonObject[] {
  const text = JSON.stringify(items, (name, value: unknown) => {
    const isKept = typeof value !== 'object' || value === null || Array.isArray(value) || isPlain(value)
    if (isKept && typeof value !== 'function' && typeof value !== 'bigint') return value
    throw new InvalidArgumentError('an item of the session', `must be JSON, and '${name}' in it is not`)
  })
  return decode(text) as JsonObject[]
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Null for what this file did not write. */
function readChange(json: unknown): HistoryChange | null {
  const { drop, items } = Object(json) as { readonly drop?: Json; readonly items?: Json }
  const isDrop = drop === 'all' || (typeof drop === 'number' && Number.isSafeInteger(drop) && drop >= 0)
  return isDrop && Array.isArray(items) ? { drop, items: items as readonly JsonObject[] } : null
}
