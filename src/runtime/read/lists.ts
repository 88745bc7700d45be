import type { ErrorCode } from '../../base/errors/codes.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import { readArgument, readOptions } from '../../base/errors/read-options.ts'
import { ConversationQuarantinedError, ScopeMissingError } from '../../base/errors/runtime-errors.ts'
import { ConversationUnreadableError } from '../../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { flowOfAgent, sessionAgent } from '../../define/define-flow.ts'
import { toolNamed } from '../../define/tool-source.ts'
import { parentCallOf } from '../../engine/child/child-calls.ts'
import type { EngineNode } from '../../engine/node.ts'
import { argsDigest } from '../../log/codec.ts'
import type { DoneBefore, SuspensionKind } from '../../log/events.ts'
import type { ConversationStatus, LastMessage } from '../../log/fsm-state.ts'
import { checkId, checkOneOf, checkWhole, readInboxFilter, readPage } from '../../store/checks.ts'
import type { ConversationFilter, ConversationRecord, Parent, PendingCall } from '../../store/records.ts'
import type { InboxFilter, Page, TenantStore } from '../../store/store.ts'
import type { CallPath } from '../../view/view.ts'
import { describedBy } from '../../view/view-of.ts'
import type { ForkOptions } from '../conversation.ts'
import { type PausedSince, withPauses } from './paused-rows.ts'

export type { LastMessage } from '../../log/fsm-state.ts'

/** The list entry of a conversation or a session. */
export type ListedConversation = Omit<ConversationRecord, 'status'> & {
  readonly status: ListStatus
  /** The beginning of its newest message as of the last time that it came to rest; null where there is none, or the caller may not read it. */
  readonly lastMessage: LastMessage | null
  /** The tokens of its newest model call, in and out, as of then: what its context takes. Null where no call told any, or the caller may not read it. */
  readonly tokens: number | null
  /**
   * Why no process works on it: it is quarantined, its row is damaged, or the scope of its turn cannot be restored. Or why this process cannot: where it has tried, its code differs from the record, or it
   * does not know an event.
   */
  readonly problem?: { readonly code: ErrorCode; readonly message: string }
  /** No process takes it until it, its agent or its tenant is resumed. */
  readonly paused?: PausedSince
}

export function listedConversation(record: ConversationRecord, problem: PerdureError | null): ListedConversation {
  const told = problemIn(record) ?? problem
  const listed = { ...record, status: listStatus(record), lastMessage: lastMessageIn(record), tokens: tokensIn(record) }
  return told ? { ...listed, problem: { code: told.code, message: told.message } } : listed
}

/** Rows may be of other versions, and of any writer. */
function lastMessageIn({ fsmState }: ConversationRecord): LastMessage | null {
  const { role, text } = Object(fsmState?.lastMessage) as Partial<LastMessage>
  return (role === 'user' || role === 'assistant') && typeof text === 'string' ? { role, text } : null
}

function tokensIn({ fsmState }: ConversationRecord): number | null {
  const { tokens } = Object(fsmState) as { readonly tokens?: unknown }
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : null
}

/** As the caller may see it who may list the conversation and not read it. */
export function withoutContent(listed: ListedConversation): ListedConversation {
  return { ...listed, lastMessage: null, tokens: null }
}

/**
 * The status of a conversation or a session as people read it: what waits for an answer is `waiting`, and a session that has ended is `done`. Rows of a store say
 * `suspended` and `ended`.
 */
export type ListStatus = Exclude<ConversationStatus, 'suspended'> | 'waiting' | 'done'

export const listStatuses: readonly ListStatus[] = [
  ...(['active', 'waiting', 'sleeping', 'idle', 'ended', 'done', 'failed'] as const),
]

function listStatus({ kind, status }: ConversationRecord): ListStatus {
  return listStatusOf(kind, status)
}

export function listStatusOf(kind: ConversationRecord['kind'], status: ConversationStatus): ListStatus {
  if (status === 'suspended') return 'waiting'
  return kind === 'flow' && status === 'ended' ? 'done' : status
}

function rowStatus(status: ListStatus): ConversationStatus {
  if (status === 'waiting') return 'suspended'
  return status === 'done' ? 'ended' : status
}

/** The row that an entry of a list was made from. */
export function listedRow({
  problem: _,
  paused: _paused,
  lastMessage: _excerpt,
  tokens: _tokens,
  ...listed
}: ListedConversation): ConversationRecord {
  return { ...listed, status: rowStatus(listed.status) }
}

/** Which conversations and sessions a list has. */
export type ListFilter = Omit<ConversationFilter, 'status' | 'ids'> & { readonly status?: ListStatus }

/** A filter of conversations as the store knows it. */
export function readListFilter(filter: ListFilter | undefined): ConversationFilter | undefined {
  const status = readArgument('filter', () => filter?.status)
  if (status === undefined) return filter as ConversationFilter | undefined
  checkOneOf('status', status, listStatuses)
  const only =
    status === 'done' ? { kind: 'flow' as const } : status === 'ended' ? { kind: 'conversation' as const } : {}
  return { ...filter, ...only, status: rowStatus(status) }
}

/** The direct forks of a conversation or a session, the newest first. */
export async function listedForks(
  store: TenantStore,
  id: string,
  page: Page | undefined,
): Promise<ListedConversation[]> {
  const forks = await store.listConversations({ ...readPage(page), forkOf: id })
  return forks.map((fork) => listedConversation(fork, null))
}

function problemIn({ id, unreadable, quarantine, fsmState }: ConversationRecord): PerdureError | null {
  if (unreadable) return new ConversationUnreadableError(id, unreadable)
  if (quarantine) return new ConversationQuarantinedError(id)
  return typeof fsmState?.scopeMissing === 'string' ? new ScopeMissingError(id, fsmState.scopeMissing) : null
}

/** How much of a lineage is read. */
export type LineageOptions = {
  /** The maximum number of entries, nearest first. Default: all. */
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
  // An id that was deleted and used again could make a lineage circular.
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

/** The row of a call, with the names that pending items have, so that an item can be handed to whatever takes one. */
type Listed = Omit<PendingCall, 'id' | 'name' | 'notice'> & {
  readonly callId: string
  readonly tool: string
  /** Names `args`. An answer with it counts only for these arguments: see `AnswerOptions`. */
  readonly digest: string
  /** As in a pending item. */
  readonly description?: string
  /** As in a pending item: the same was done in an earlier variant of the turn. */
  readonly doneBefore?: DoneBefore
  /** This process does not have the code of its agent or flow, so an answer waits for one that does. */
  readonly agentMissing: boolean
  /** An answer is recorded, and no process acts on it until the conversation, its agent or its tenant is resumed. */
  readonly paused?: PausedSince
  /** From the conversation that callers talk to, over the calls of child agents, down to this call. */
  readonly path: CallPath
}

/** A call that waits for an answer. */
export type InboxCall = Listed & {
  readonly kind: SuspensionKind
  /** JSON Schema of the arguments of an approval, for a form. Absent where this process does not have the tool, and above 16 KiB. */
  readonly argsSchema?: JsonObject
}

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

type Known = Pick<EngineNode, 'agents' | 'addressable' | 'flows' | 'pauses'>

const defaultPage = 100

/** A page of what waits for an answer in a tenant, the newest first. What waits for a child agent is not in it: the child's own calls are. */
export async function inbox(
  store: TenantStore,
  tenant: string,
  node: Known,
  given?: InboxFilter,
): Promise<InboxItem[]> {
  const { owner, before, limit = defaultPage, maxBytes } = readInboxFilter(given)
  const found: PendingCall[] = []
  const bounds = { limit, ...(owner === undefined ? {} : { owner }), ...(maxBytes === undefined ? {} : { maxBytes }) }
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
    const { id: callId, name: tool, kind, notice, ...row } = call
    if (kind === 'flow') return inboxQuestion(call, node)
    const path = await paths.of(call.conversationId, callId)
    const known = path.length > 1 ? node.agents : node.addressable
    const agentMissing = call.agent === null || !known.has(call.agent)
    const argsSchema = argsSchemaOf(call, node.agents)
    const told = { ...describedBy(row.prompt), ...notice }
    const listed = { ...row, ...told, kind, callId, tool, digest: argsDigest(call.args), agentMissing, path }
    return argsSchema ? { ...listed, argsSchema } : listed
  })
  return withPauses(node.pauses, await Promise.all(items), ({ conversationId: id, agent }) => ({ tenant, id, agent }))
}

function inboxQuestion({ id, name, notice: _, ...row }: PendingCall, { flows }: Known): InboxQuestion {
  const { conversationId, round, args, prompt, createdAt } = row
  const flow = flowOfAgent(row.agent) ?? ''
  const path = [{ conversationId, callId: id }]
  const digest = argsDigest(args)
  const listed = { ...row, kind: 'flow' as const, callId: id, tool: name, digest, agentMissing: !flows.has(flow), path }
  return { ...listed, flow, seq: round, tag: args, schema: prompt, at: createdAt }
}

/** The status of a session in a list. A list reads rows, not logs: `running` is every session that some process works on or has to. */
export type SessionStatus = 'running' | 'waiting' | 'sleeping' | 'dormant' | 'done' | 'failed'

/** `before` is the id of the last session of the previous page. */
export type SessionFilter = Page & {
  /** Only sessions of this flow. */
  readonly flow?: string
  /** Only those that this user started. */
  readonly owner?: string
  readonly status?: SessionStatus
  /** Only those with this text in their title or id: see `ConversationFilter`. */
  readonly text?: string
}

/** The list entry of a session. */
export type ListedSession = Pick<
  ListedConversation,
  | 'id'
  | 'owner'
  | 'title'
  | 'parent'
  | 'lastSeq'
  | 'createdAt'
  | 'updatedAt'
  | 'quarantine'
  | 'unreadable'
  | 'problem'
  | 'waiting'
  | 'paused'
> & { readonly flow: string; readonly status: SessionStatus }

const rowStatuses = {
  running: 'active',
  waiting: 'suspended',
  sleeping: 'sleeping',
  dormant: 'idle',
  done: 'ended',
  failed: 'failed',
} as const satisfies Record<SessionStatus, ConversationStatus>

/** A filter of sessions as the store knows it. */
export function readSessionFilter(given: SessionFilter | undefined): ConversationFilter {
  const { flow, owner, status, text, ...page } = readOptions<SessionFilter, keyof SessionFilter>(
    'filter',
    given ?? {},
    [...['flow', 'owner', 'status', 'text', 'before', 'limit', 'maxBytes']] as (keyof SessionFilter)[],
  )
  if (flow !== undefined) checkId('flow', flow)
  if (owner !== undefined) checkId('owner', owner)
  if (status !== undefined) checkOneOf('status', status, Object.keys(rowStatuses) as SessionStatus[])
  return {
    ...readPage(page),
    kind: 'flow',
    ...(flow === undefined ? {} : { agent: sessionAgent(flow) }),
    ...(owner === undefined ? {} : { owner }),
    ...(status === undefined ? {} : { status: rowStatuses[status] }),
    ...(text === undefined ? {} : { text }),
  }
}

export function listedSession(record: ConversationRecord, given: PerdureError | null): ListedSession {
  const { id, owner, title, parent, lastSeq, createdAt, updatedAt, quarantine, unreadable, waiting } = record
  const { problem } = listedConversation(record, given)
  return {
    id,
    owner,
    flow: flowOfAgent(record.agent) ?? '',
    status: sessionStatusOf(record.status),
    title,
    parent,
    lastSeq,
    createdAt,
    updatedAt,
    ...(waiting === undefined ? {} : { waiting }),
    ...(quarantine ? { quarantine } : {}),
    ...(unreadable ? { unreadable } : {}),
    ...(problem ? { problem } : {}),
  }
}

export function sessionStatusOf(row: ConversationStatus): SessionStatus {
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

/** A page of the inbox has a schema with each approval: larger ones are left out of it. */
const mostCharacters = 16_384

const sizes = new WeakMap<JsonObject, number>()

/** What the arguments of an approval must fit, for a form to edit them in. Null where this process does not have the tool, or its schema is large. */
function argsSchemaOf({ agent, name, kind }: PendingCall, agents: EngineNode['agents']): JsonObject | null {
  const tool = kind === 'approval' ? toolNamed(agents.get(agent ?? ''), name) : null
  if (!tool || !('inputJsonSchema' in tool)) return null
  const schema = tool.inputJsonSchema
  const size = sizes.get(schema) ?? JSON.stringify(schema).length
  sizes.set(schema, size)
  return size > mostCharacters ? null : schema
}
