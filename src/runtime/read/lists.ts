import type { ErrorCode } from '../../base/errors/codes.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { ConversationQuarantinedError } from '../../base/errors/runtime-errors.ts'
import { ConversationUnreadableError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import { flowOfAgent, sessionAgent } from '../../define/define-flow.ts'
import { parentCallOf } from '../../engine/child/child-calls.ts'
import type { EngineNode } from '../../engine/node.ts'
import type { SuspensionKind } from '../../log/events.ts'
import type { ConversationStatus } from '../../log/fsm-state.ts'
import { checkId, checkOneOf, checkWhole, readPage } from '../../store/checks.ts'
import type { ConversationFilter, ConversationRecord, Parent, PendingCall } from '../../store/records.ts'
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

/** Something that waits for an answer: a call, or a question of a session. */
export type InboxItem = InboxCall | InboxQuestion

type Listed = PendingCall & {
  /** The same as `id` and `name`, as pending items call them, so that an item can be handed to whatever takes one. */
  readonly callId: string
  readonly tool: string
  /** This process does not have the code of its agent or flow, so an answer waits for one that does. */
  readonly agentMissing: boolean
  /** From the conversation that callers talk to, over the calls of child agents, down to this call. */
  readonly path: CallPath
}

/** A call that waits for an answer. */
export type InboxCall = Listed & { readonly kind: SuspensionKind }

/** A question of a session: what `suspend` or `request` asked. The session's id is `conversationId`. */
export type InboxQuestion = Listed & {
  readonly kind: 'flow'
  readonly flow: string
  /** Names the question: an answer to it never reaches the next one. */
  readonly seq: number
  readonly tag: Json
  /** JSON Schema of the answer; null: anything. */
  readonly schema: Json
  readonly at: number
}

type Known = Pick<EngineNode, 'agents' | 'addressable' | 'flows'>

const defaultPage = 100

/** A page of what waits for an answer in a tenant, the newest first. What waits for a child agent is not in it: the child's own calls are. */
export async function inbox(store: TenantStore, node: Known, given?: Page): Promise<InboxItem[]> {
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
    const { kind } = call
    if (kind === 'flow') return inboxQuestion(call, node)
    const path = await paths.of(call.conversationId, call.id)
    const known = path.length > 1 ? node.agents : node.addressable
    const agentMissing = call.agent === null || !known.has(call.agent)
    return { ...call, kind, callId: call.id, tool: call.name, agentMissing, path }
  })
  return Promise.all(items)
}

function inboxQuestion(row: PendingCall, { flows }: Known): InboxQuestion {
  const { id, conversationId, name, round, args, prompt, createdAt } = row
  const flow = flowOfAgent(row.agent) ?? ''
  const path = [{ conversationId, callId: id }]
  const listed = { ...row, kind: 'flow' as const, callId: id, tool: name, agentMissing: !flows.has(flow), path }
  return { ...listed, flow, seq: round, tag: args, schema: prompt, at: createdAt }
}

/** The status of a session in a list. A list reads rows, not logs: `running` is every session that some process works on or has to. */
export type SessionStatus = 'running' | 'suspended' | 'sleeping' | 'dormant' | 'done' | 'failed'

/** `before` is the id of the last session of the previous page. */
export type SessionFilter = Page & {
  /** Only sessions of this flow. */
  readonly flow?: string
  readonly status?: SessionStatus
}

/** What a list tells of a session. */
export type ListedSession = Pick<
  ListedConversation,
  'id' | 'title' | 'parent' | 'lastSeq' | 'createdAt' | 'updatedAt' | 'quarantine' | 'unreadable' | 'problem'
> & { readonly flow: string; readonly status: SessionStatus }

const rowStatuses = {
  running: 'active',
  suspended: 'suspended',
  sleeping: 'sleeping',
  dormant: 'idle',
  done: 'ended',
  failed: 'failed',
} as const satisfies Record<SessionStatus, ConversationStatus>

/** A filter of sessions as the store knows it. */
export function readSessionFilter(given: SessionFilter | undefined): ConversationFilter {
  const { flow, status, ...page } = readOptions<SessionFilter, keyof SessionFilter>('filter', given ?? {}, [
    ...['flow', 'status', 'before', 'limit', 'maxBytes'],
  ] as (keyof SessionFilter)[])
  if (flow !== undefined) checkId('flow', flow)
  if (status !== undefined) checkOneOf('status', status, Object.keys(rowStatuses) as SessionStatus[])
  return {
    ...readPage(page),
    kind: 'flow',
    ...(flow === undefined ? {} : { agent: sessionAgent(flow) }),
    ...(status === undefined ? {} : { status: rowStatuses[status] }),
  }
}

export function listedSession(record: ListedConversation): ListedSession {
  const { id, title, parent, lastSeq, createdAt, updatedAt, quarantine, unreadable, problem } = record
  return {
    ...{
      id,
      flow: flowOfAgent(record.agent) ?? '',
      status: statusOfRow(record.status),
      title,
      parent,
      lastSeq,
      createdAt,
      updatedAt,
    },
    ...(quarantine ? { quarantine } : {}),
    ...(unreadable ? { unreadable } : {}),
    ...(problem ? { problem } : {}),
  }
}

function statusOfRow(row: ConversationStatus): SessionStatus {
  return (Object.keys(rowStatuses) as SessionStatus[]).find((status) => rowStatuses[status] === row)!
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
