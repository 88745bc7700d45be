import { readMembers, shown } from '../base/errors/read-options.ts'
import { ConversationUnreadableError, InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { decode, encode } from '../log/codec.ts'
import type { LogEvent } from '../log/events.ts'
import type { FsmState } from '../log/fsm-state.ts'
import type { ConversationState } from '../log/state.ts'
import { checkId, checkWhole, isId } from './checks.ts'
import type {
  StoredCall,
  StoredConversation,
  StoredEvent,
  StoredInboxCall,
  StoredModelCall,
  StoredSummary,
} from './driver.ts'
import type {
  CallNotice,
  ConversationRecord,
  ModelCall,
  NewModelCall,
  NewSummary,
  Parent,
  Summary,
  ToolCall,
  UnreadableColumn,
} from './records.ts'
import type { PageBounds, TenantStore } from './store.ts'
import type { ConversationRow } from './upkeep.ts'

export function decodeEvent(conversationId: string, { seq, at, type, content }: StoredEvent): LogEvent {
  return { conversationId, seq, at, type, content: decode(content) } as unknown as LogEvent
}

/**
 * The encoded parents of a conversation's direct forks are those from `from` up to but not including `to`, by their bytes: `at` starts with a digit, and the
 * colon comes right after the digits.
 */
export function forkParents(id: string): { readonly from: string; readonly to: string } {
  const from = `{"id":${encode(id)},"at":`
  return { from, to: `${from}:` }
}

export function decodeCall(row: StoredCall): ToolCall {
  return {
    id: row.id,
    conversationId: row.conversationId,
    name: decode(row.name) as string,
    executor: row.executor,
    status: row.status,
    args: decode(row.args),
    result: row.result === null ? null : decode(row.result),
    round: row.round,
    kind: row.kind,
    prompt: row.prompt === null ? null : decode(row.prompt),
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
    resolvedAt: row.resolvedAt,
    notice: decodeOptional(row.notice) as CallNotice | null,
    meta: decodeOptional(row.meta) as JsonObject | null,
  }
}

export function encodeSummary(input: NewSummary): StoredSummary & { readonly plannedOn: number } {
  const summary = readMembers('summary', input ?? null, [
    ...(['fromSeq', 'toSeq', 'content', 'version', 'base', 'plannedOn'] as const),
  ]) as NewSummary
  checkWhole('fromSeq', summary.fromSeq, 0)
  checkWhole('toSeq', summary.toSeq, summary.fromSeq)
  checkWhole('version', summary.version, 0)
  const { fromSeq, toSeq, version, plannedOn = toSeq } = summary
  checkWhole('plannedOn', plannedOn, toSeq)
  return {
    fromSeq,
    toSeq,
    version,
    content: encode(summary.content, 'content'),
    base: summary.base ? encode(summary.base, 'base') : null,
    plannedOn,
  }
}

export function decodeSummary({ fromSeq, toSeq, version, content, base }: StoredSummary): Summary {
  return {
    fromSeq,
    toSeq,
    version,
    content: decode(content),
    base: base === null ? null : (decode(base) as unknown as ConversationState),
  }
}

export function encodeModelCall(input: NewModelCall): StoredModelCall {
  const call = readMembers('model call', input ?? null, modelCallMembers) as NewModelCall
  checkId('turnRef', call.turnRef)
  if (call.at !== undefined) checkWhole('at', call.at, 0)
  if (call.latencyMs !== undefined && call.latencyMs !== null) checkWhole('latencyMs', call.latencyMs, 0)
  if (call.summaryVersion !== undefined && call.summaryVersion !== null)
    checkWhole('summaryVersion', call.summaryVersion, 0)
  return {
    turnRef: call.turnRef,
    renderedContext: encodeOptional(call.renderedContext, 'renderedContext'),
    model: encodeOptional(call.model, 'model'),
    usage: encodeOptional(call.usage, 'usage'),
    latencyMs: call.latencyMs ?? null,
    status: encode(call.status ?? 'ok', 'status'),
    summaryVersion: call.summaryVersion ?? null,
    evictions: encodeOptional(call.evictions, 'evictions'),
    meta: encodeMeta(call.meta),
    at: call.at ?? null,
  }
}

export function decodeModelCall(row: StoredModelCall & { at: number }): ModelCall {
  return {
    turnRef: row.turnRef,
    renderedContext: decodeOptional(row.renderedContext),
    model: decodeOptional(row.model),
    usage: decodeOptional(row.usage),
    latencyMs: row.latencyMs,
    status: decode(row.status) as string,
    summaryVersion: row.summaryVersion,
    evictions: decodeOptional(row.evictions),
    at: row.at,
    meta: decodeOptional(row.meta) as JsonObject | null,
  }
}

export function encodeNotice(notice: unknown): string | null {
  if (notice === undefined || notice === null) return null
  if (typeof notice !== 'object' || Array.isArray(notice))
    throw new InvalidArgumentError('notice', `must be an object or null, not ${shown(notice)}`)
  return encode(notice as JsonObject, 'notice')
}

/** Null if the member is absent. `null` is a value of its own: it removes the stored one. */
export function encodeMeta(meta: unknown): string | null {
  if (meta === undefined) return null
  if (typeof meta !== 'object' || Array.isArray(meta))
    throw new InvalidArgumentError(
      'meta',
      `must be an object or null, not ${Array.isArray(meta) ? 'a list' : shown(meta)}`,
    )
  const text = encode(meta, 'meta')
  const bytes = Buffer.byteLength(text)
  if (bytes > maxMetaBytes)
    throw new InvalidArgumentError(
      'meta',
      `has ${bytes} bytes as JSON; at most ${maxMetaBytes} are stored, so put the rest into a blob`,
    )
  return text
}

const maxMetaBytes = 64 * 1024

const modelCallMembers = [
  ...(['turnRef', 'renderedContext', 'model', 'usage', 'latencyMs'] as const),
  ...(['status', 'summaryVersion', 'evictions', 'at', 'meta'] as const),
]

function encodeOptional(value: unknown, path: string): string | null {
  return value === undefined ? null : encode(value, path)
}

function decodeOptional(text: string | null) {
  return text === null ? null : decode(text)
}

/**
 * Merges settings into the encoded settings of a conversation: the new ones win, key by key. For drivers. Throws when the current ones are damaged, so nothing
 * may have been written by then.
 */
export function mergeSettings(current: string, added: string): string {
  const settings = decoded(current)
  if (settings === undefined) throw new ConversationUnreadableError(null, ['settings'])
  return encode({ ...(settings as JsonObject), ...(decode(added) as JsonObject) })
}

/** Throws `ConversationUnreadableError` when a column is damaged. */
export function decodeConversation(row: StoredConversation): ConversationRecord {
  const { unreadable, ...record } = listConversation(row)
  if (!unreadable) return record
  const error = new ConversationUnreadableError(row.id, unreadable)
  damaged.set(error, record)
  throw error
}

const damaged = new WeakMap<object, ConversationRecord>()

/** What could be read of the row that `decodeConversation` threw this error for; null for any other error. */
export function damagedRecord(error: unknown): ConversationRecord | null {
  return (typeof error === 'object' && error !== null && damaged.get(error)) || null
}

/** Of a damaged row, the readable columns are returned: decisions that need only its owner must not wait for a repair. */
export async function readRecord(
  store: Pick<TenantStore, 'getConversation'>,
  id: string,
): Promise<ConversationRecord | null> {
  try {
    return await store.getConversation(id)
  } catch (error) {
    const readable = damagedRecord(error)
    if (readable) return readable
    throw error
  }
}

/** For lists, which one damaged row must not break: an unreadable column is named, and shown as empty. */
export function listConversation({
  idleSeq: _,
  ...row
}: StoredConversation & { idleSeq?: number }): ConversationRecord {
  const unreadable: UnreadableColumn[] = []
  const read = (column: UnreadableColumn): Json => {
    const text = row[column]
    const value = text === null ? null : decoded(text)
    if (value === undefined) unreadable.push(column)
    return value ?? null
  }
  const { quarantinedAt, quarantineEpoch, ...columns } = row
  const record = {
    ...columns,
    settings: (read('settings') ?? {}) as JsonObject,
    fsmState: read('fsmState') as unknown as FsmState | null,
    title: read('title') as string | null,
    parent: read('parent') as unknown as Parent | null,
    ...(quarantinedAt === null || quarantineEpoch === null
      ? {}
      : { quarantine: { at: quarantinedAt, epoch: quarantineEpoch } }),
  }
  return unreadable.length === 0 ? record : { ...record, unreadable }
}

/** What a filter's `text` must occur in: the id in lower case, or the stored title in lower case. Only ASCII letters have cases here, as in every backend. For drivers. */
export function searchedText(text: string): { readonly inId: string; readonly inTitle: string } {
  const inId = lowerAscii(text)
  // The title is stored as JSON.
  return { inId, inTitle: lowerAscii(JSON.stringify(text).slice(1, -1)) }
}

export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Undefined when the text is not JSON. */
export function decoded(text: string): Json | undefined {
  try {
    return decode(text)
  } catch {
    return undefined
  }
}

/** About how many bytes a row takes in memory. */
export function rowSize({ row }: ConversationRow): number {
  let size = 100
  for (const value of Object.values(row)) if (typeof value === 'string') size += value.length
  return size
}

/** The first rows, as many as the bounds allow, and at least one where there is one. Takes at most one row more than it returns. For drivers. */
export function fittingRows<Row>(
  rows: Iterable<Row>,
  { limit = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY }: PageBounds,
  bytesOf: (row: Row) => number,
): Row[] {
  const fitting: Row[] = []
  let bytes = 0
  for (const row of rows) {
    if (maxBytes !== Number.POSITIVE_INFINITY) bytes += bytesOf(row)
    if (fitting.length > 0 && bytes > maxBytes) break
    fitting.push(row)
    if (fitting.length >= limit) break
  }
  return fitting
}

/** What counts towards the byte bound for each kind of row; see the methods of `Driver`. */
export const rowBytes = {
  event: ({ content }: StoredEvent) => bytesIn(content),
  conversation: ({ title, parent, fsmState, settings }: StoredConversation) =>
    bytesIn(title, parent, fsmState, settings),
  inboxCall: ({ name, args, prompt, notice, meta, title }: StoredInboxCall) =>
    bytesIn(name, args, prompt, notice, meta, title),
  modelCall: ({ status, model, usage, evictions, meta, renderedContext }: StoredModelCall) =>
    bytesIn(status, model, usage, evictions, meta, renderedContext),
}

function bytesIn(...texts: readonly (string | null)[]): number {
  let bytes = 0
  for (const text of texts) if (text !== null) bytes += Buffer.byteLength(text)
  return bytes
}

/** Who opened a log: the `who` of its first message, or of the start of its session. Null if the events do not say, or if it is not a valid id. */
export function openerIn(events: Iterable<{ readonly type: string; readonly content: unknown }>): string | null {
  for (const { type, content } of events) {
    if (type !== 'user_msg' && type !== 'flow_started') continue
    const { who } = Object(content) as { readonly who?: unknown }
    return isId(who) ? who : null
  }
  return null
}
