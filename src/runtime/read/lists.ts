import type { ErrorCode } from '../../base/errors/codes.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { ConversationQuarantinedError } from '../../base/errors/runtime-errors.ts'
import { ConversationUnreadableError } from '../../base/errors/store-errors.ts'
import { parentCallOf } from '../../engine/child/child-calls.ts'
import type { EngineNode } from '../../engine/node.ts'
import { checkId, checkWhole, readPage } from '../../store/checks.ts'
import type { ConversationRecord, Parent, PendingCall } from '../../store/records.ts'
import type { Page, TenantStore } from '../../store/store.ts'
import type { CallPath } from '../../view/view.ts'
import type { ForkOptions } from '../conversation.ts'

/** What a list tells of a conversation or a session. */
export type ListedConversation = ConversationRecord & {
  /**
   * Why this process cannot work on it: it is quarantined, its row is damaged, or, where it has tried, its code differs from the record, or it
   * does not know an event. Not in the log.
   */
  readonly problem?: { readonly code: ErrorCode; readonly message: string }
}

export function listedConversation(record: ConversationRecord, problem: PerdureError | null): ListedConversation {
  const told = problemIn(record) ?? problem
  return told ? { ...record, problem: { code: told.code, message: told.message } } : record
}

function problemIn({ id, unreadable, quarantine }: ConversationRecord): PerdureError | null {
  if (unreadable) return new ConversationUnreadableError(id, unreadable)
  return quarantine ? new ConversationQuarantinedError(id) : null
}

/** How much of a lineage is read. */
export type LineageOptions = {
  /** So many of the nearest. Default: all. */
  readonly limit?: number
}

/** Where a fork was cut from, then where that was, and so on to the first; as far as they still exist. */
export async function lineageOf(
  store: TenantStore,
  id: string,
  options?: LineageOptions,
): Promise<Required<Pick<Parent, 'id' | 'at'>>[]> {
  const { limit = Number.MAX_SAFE_INTEGER } = readOptions('options', options, ['limit'])
  checkWhole('limit', limit, 1)
  const lineage: { id: string; at: number }[] = []
  // Under a name that was deleted and given again, a line could come back to itself.
  const seen = new Set([id])
  for (let parent = await parentOf(store, id); parent && !seen.has(parent.id); ) {
    lineage.push(parent)
    seen.add(parent.id)
    if (lineage.length >= limit) break
    parent = await parentOf(store, parent.id)
  }
  return lineage
}

async function parentOf(store: TenantStore, id: string): Promise<{ id: string; at: number } | null> {
  const parent = (await store.getConversation(id))?.parent
  return parent?.at === undefined ? null : { id: parent.id, at: parent.at }
}

/** A call that waits for an answer. */
export type InboxItem = PendingCall & {
  /** The same as `id` and `name`, as pending items call them, so that an item can be handed to whatever takes one. */
  readonly callId: string
  readonly tool: string
  /** This process does not have the code of its agent, so an answer waits for one that does. */
  readonly agentMissing: boolean
  /** From the conversation that callers talk to, over the calls of child agents, down to this call. */
  readonly path: CallPath
}

type Known = Pick<EngineNode, 'agents' | 'addressable'>

const defaultPage = 100

/** A page of what waits for an answer in a tenant, the newest first. What waits for a child agent is not in it: the child's own calls are. */
export async function inbox(store: TenantStore, { agents, addressable }: Known, given?: Page): Promise<InboxItem[]> {
  const { before, limit = defaultPage, maxBytes } = readPage(given)
  const found: PendingCall[] = []
  const bounds = { limit, ...(maxBytes === undefined ? {} : { maxBytes }) }
  for (let cursor = before; ; ) {
    const rows = await store.pendingInbox({ ...(cursor === undefined ? {} : { before: cursor }), ...bounds })
    found.push(...rows.filter(({ kind }) => kind !== 'sub_agent'))
    cursor = rows.at(-1)?.id
    if (rows.length === 0 || found.length >= limit) break
    // Where bytes are counted a page may be short, and then one that has something is enough.
    if (maxBytes === undefined ? rows.length < limit : found.length > 0) break
  }
  const paths = new Paths(store)
  const items = found.slice(0, limit).map(async (call): Promise<InboxItem> => {
    const path = await paths.of(call.conversationId, call.id)
    const known = path.length > 1 ? agents : addressable
    const agentMissing = call.agent === null || !known.has(call.agent)
    return { ...call, callId: call.id, tool: call.name, agentMissing, path }
  })
  return Promise.all(items)
}

/** Looks each conversation up once. */
class Paths {
  readonly #store: TenantStore
  readonly #above = new Map<string, Promise<CallPath>>()

  constructor(store: TenantStore) {
    this.#store = store
  }

  async of(conversationId: string, callId: string): Promise<CallPath> {
    const above = this.#above.get(conversationId) ?? this.#pathTo(conversationId)
    this.#above.set(conversationId, above)
    return [...(await above), { conversationId, callId }]
  }

  async #pathTo(conversationId: string): Promise<CallPath> {
    const parent = await parentCallOf(this.#store, conversationId)
    return parent ? this.of(parent.conversationId, parent.callId) : []
  }
}

type ReadForkOptions = { readonly at?: number; readonly id?: string; readonly name?: string }

/** Where to cut and whose the copy is, checked and read once; `name` is the agent's. */
export function readForkOptions(given: ForkOptions | undefined): ReadForkOptions {
  const { at, id, agent } = readOptions('options', given, ['at', 'id', 'agent'])
  if (at !== undefined) checkWhole('at', at, 0)
  if (id !== undefined) checkId('new conversation id', id)
  const named = typeof agent === 'object' ? readOptions('agent', agent, ['name']).name : agent
  if (agent !== undefined) checkId('agent', named)
  return {
    ...(at === undefined ? {} : { at }),
    ...(id === undefined ? {} : { id }),
    ...(named === undefined ? {} : { name: named }),
  }
}
