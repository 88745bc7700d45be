import { readOptions } from '../../base/errors/read-options.ts'
import type { Json } from '../../base/json.ts'
import type { TurnLimits } from '../../engine/limits/turn-limits.ts'
import { blobRefsIn } from '../../log/blob-ref.ts'
import type { LogEvent } from '../../log/events.ts'
import type { Accounts } from '../../store/accounts.ts'
import { readRange } from '../../store/checks.ts'
import type { KnownPauses } from '../../store/known-pauses.ts'
import { logPages } from '../../store/log-pages.ts'
import type { Nodes } from '../../store/nodes.ts'
import type { ConversationRecord, ConversationRef, ModelCall, ModelCallRange } from '../../store/records.ts'
import { areLimited, reachedLimit, type SlotLimit } from '../../store/slots.ts'
import type { EventPage, EventRange, TenantStore } from '../../store/store.ts'
import type { WorkRow } from '../../store/work-rows.ts'
import type { AboutCall } from '../authorize/asked-call.ts'
import type { AuthorizeAction } from '../authorize/authorize.ts'
import { type ExplainRange, type ExplanationPage, explainPage, readExplainRange } from './explain-log.ts'
import { type HistoryOptions, historyTurns, type TurnPage } from './history.ts'
import { shownPages } from './turn-events.ts'

/** What is kept of a conversation or session beside its log. Reads only. */
export type Inspection = {
  /** Its place, the same for all scopes of one tenant. */
  readonly ref: ConversationRef
  /** Null when there is none. `action`: what it is read for, which `authorize` is asked about, with the call that it is about. Default: 'read'. */
  record(action?: AuthorizeAction, about?: AboutCall): Promise<ConversationRecord | null>
  /** The limit that keeps the conversation from being worked on; null where none does, also while a node works on it. Of the limits of this node. */
  waitsFor(): Promise<SlotLimit | null>
  /** Its lease and its wake-up, whether it is quarantined, and since when it is paused. Null when there is none, or the store cannot tell. */
  work(): Promise<InspectedWork | null>
  /** What each model call was given, as far as the agent's audit keeps it. */
  modelCalls(range?: ModelCallRange): Promise<ModelCall[]>
  /** How each event was in the prompt of a call; of several attempts the last. Null when there is no such call. */
  explain(turnRef: string, range?: ExplainRange): Promise<ExplanationPage | null>
  snapshot(): Promise<Json>
  /** Whole turns, the newest first, as they fold. */
  turns(page?: HistoryOptions): Promise<TurnPage>
  /**
   * The log by pages, whose events are decoded as they are reached. Onwards from `after` where it is given, else back from the end. `withheld`: with
   * what messages say that no hook has passed.
   */
  pages(
    range?: Pick<EventRange, 'after' | 'before'>,
    options?: { readonly withheld?: boolean },
  ): AsyncGenerator<EventPage, void, void>
  /** A file that the log refers to, by the hash of its bytes. Null when it refers to none such. */
  file(blob: string): Promise<StoredFile | null>
}

/** What processes make of a conversation or session. `paused`: since when no process takes it. */
export type InspectedWork = Omit<WorkRow, 'tenant' | 'id'> & { readonly paused: { readonly at: number } | null }

/** The facts of this node and the store that are shown beside the log. */
type Seen = {
  readonly nodes?: Nodes | undefined
  readonly pauses?: KnownPauses
  readonly limits?: LimitsOfNode | null
}

export function inspect(
  store: TenantStore,
  ref: ConversationRef,
  { nodes, pauses, limits = null }: Seen = {},
): Inspection {
  const { id } = ref
  return {
    ref,
    record: () => store.getConversation(id),
    waitsFor: async () => (limits ? limitReached(store, ref, limits) : null),
    async work() {
      const row = await nodes?.workOf(ref.tenant, id)
      if (!row) return null
      const { tenant, id: _, ...rest } = row
      const pause = await pauses?.ofNow({ tenant, id, agent: rest.agent })
      return { ...rest, paused: pause ? { at: pause.at } : null }
    },
    modelCalls: (range) => store.modelCalls(id, range),
    async explain(turnRef, range) {
      const asked = readExplainRange(range)
      const calls = await store.modelCalls(id, { turnRef, contexts: false })
      const call = calls.at(-1)
      return call ? explainPage(store, id, call, asked) : null
    },
    snapshot: () => store.getSnapshot(id),
    turns: (page) => historyTurns(store, id, page),
    async *pages(range, options) {
      const { withheld = false } = readOptions('options', options, ['withheld'])
      const pages = logPages(store, id, readRange(range))
      yield* withheld === true ? pages : shownPages(store, id, pages)
    },
    file: async (blob) => ((await refersTo(store, id, blob)) ? openFile(store, blob) : null),
  }
}

/** The limits of this node, and where slots are counted. */
export type LimitsOfNode = { readonly turnLimits: TurnLimits; readonly accounts: Accounts }

/** As a claim would count now. */
async function limitReached(
  store: TenantStore,
  { tenant, id }: ConversationRef,
  { turnLimits, accounts }: LimitsOfNode,
): Promise<SlotLimit | null> {
  const record = await store.getConversation(id)
  if (!record?.agent || record.kind === 'flow' || record.status !== 'active' || record.parent?.callId !== undefined)
    return null
  const limits = turnLimits.forClaim(tenant, record.agent)
  if (!areLimited(limits)) return null
  const held = await accounts.held({ tenant, id, agent: record.agent, account: limits.account?.name ?? null })
  return held.isHeld ? null : reachedLimit(limits, held)
}

/** A file of a store, read as it is taken. */
export type StoredFile = { readonly mediaType: string; readonly pieces: AsyncIterable<Uint8Array> }

const pieceBytes = 1024 * 1024

async function openFile(store: TenantStore, blob: string): Promise<StoredFile | null> {
  const read = (from: number) => store.getBlob({ blob, mediaType: '', size: 0 }, { from, length: pieceBytes })
  const first = await read(0)
  return first && { mediaType: first.mediaType, pieces: pieces(first.bytes, read) }
}

async function* pieces(
  first: Uint8Array,
  read: (from: number) => Promise<{ readonly bytes: Uint8Array } | null>,
): AsyncGenerator<Uint8Array, void, void> {
  yield first
  for (let [from, last] = [first.byteLength, first.byteLength]; last === pieceBytes; from += last) {
    const next = await read(from)
    // It was deleted during the export: the part that was sent is incomplete.
    if (!next) throw new Error('the file is gone')
    if (next.bytes.byteLength > 0) yield next.bytes
    last = next.bytes.byteLength
  }
}

/** Blobs belong to a tenant. A reader of a conversation sees only those that the conversation has shown. */
async function refersTo(store: TenantStore, id: string, blob: string): Promise<boolean> {
  for await (const { events } of shownPages(store, id, logPages(store, id))) {
    if (areAbout(events, blob)) return true
  }
  return false
}

function areAbout(events: Iterable<LogEvent>, blob: string): boolean {
  for (const { content } of events) if (blobRefsIn(content as Json).includes(blob)) return true
  return false
}
