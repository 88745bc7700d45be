import { parentCallOf } from '../../engine/child/admit-child.ts'
import { readPage } from '../../store/read-ranges.ts'
import type { Page, TenantStore } from '../../store/store.ts'
import type { PendingCall } from '../../store/tool-call.ts'
import type { CallPath } from '../../view/view.ts'
import type { RuntimeContext } from '../runtime-context.ts'

/** Something that waits for somebody. */
export type InboxItem = PendingCall & {
  /** The same as `id` and `name`, as pending items call them, so that an item can be handed to whatever takes one. */
  readonly callId: string
  readonly tool: string
  /** This process does not have the code of its agent, so an answer waits for one that does. */
  readonly agentMissing: boolean
  /** From the conversation somebody talks to, over the calls of child agents, down to this call. */
  readonly path: CallPath
}

type Known = Pick<RuntimeContext, 'agents' | 'addressable'>

const defaultPage = 100

/** A page of what waits for somebody in a tenant, the newest first. What waits for a child agent is not in it: the child's own calls are. */
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
