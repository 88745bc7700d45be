import type { ErrorCode } from '../base/errors/codes.ts'
import { readOptions } from '../base/errors/read-options.ts'
import type { LogEvent } from '../log/events.ts'
import type { Explanation } from '../prompt/explain.ts'
import type { ListedConversation } from '../runtime/read/lists.ts'
import type { ModelCall } from '../store/records.ts'

export type { Explanation } from '../prompt/explain.ts'

type Get = <T>(rest: string, query?: object) => Promise<T>

/** A range of events: forward from `after`, or back from the end. */
export type EventsRange = { readonly after?: number; readonly before?: number; readonly limit?: number }

type EventsAnswer = { readonly events: LogEvent[]; readonly after?: number | null; readonly before?: number | null }

const eventsPerPage = 200

/** Pages of a log as the server divides them, each in log order. */
export async function* eventPages(get: Get, path: string, range?: EventsRange): AsyncGenerator<LogEvent[], void, void> {
  for (let asked = readRange(range); ; ) {
    const { events, after = null, before = null } = await get<EventsAnswer>(path, asked)
    yield events
    if (after === null && before === null) return
    asked = { ...asked, ...(after === null ? { before: before! } : { after }) }
  }
}

/** As many events as requested, over as many pages as needed. */
export async function readEvents(get: Get, path: string, given?: EventsRange): Promise<LogEvent[]> {
  const range = readRange(given)
  const { limit = eventsPerPage } = range
  let found: LogEvent[] = []
  for await (const events of eventPages(get, path, { ...range, limit })) {
    found = range.after === undefined ? [...events, ...found] : [...found, ...events]
    if (found.length >= limit) break
  }
  return range.after === undefined ? found.slice(-limit) : found.slice(0, limit)
}

/** Reads the range once, because it is used for every page. */
function readRange(given: EventsRange | undefined): EventsRange {
  return readOptions('range', given, ['after', 'before', 'limit'])
}

type CallsAnswer = { readonly modelCalls: ModelCallSummary[]; readonly next?: object | null }

export async function allModelCalls(get: Get, path: string): Promise<ModelCallSummary[]> {
  const found: ModelCallSummary[] = []
  for (let query: object | null = {}; query; ) {
    const { modelCalls, next = null }: CallsAnswer = await get<CallsAnswer>(path, query)
    found.push(...modelCalls)
    query = next
  }
  return found
}

type AttemptsAnswer = { readonly attempts: RemoteModelCall[]; readonly next?: object | null }

export async function allAttempts(get: Get, path: string): Promise<RemoteModelCall[]> {
  const found: RemoteModelCall[] = []
  for (let query: object | null = {}; query; ) {
    const { attempts, next = null }: AttemptsAnswer = await get<AttemptsAnswer>(path, query)
    found.push(...attempts)
    query = next
  }
  return found
}

type ExplainAnswer = { readonly explanations: Explanation[]; readonly after?: number | null }

export async function allExplanations(get: Get, path: string): Promise<Explanation[]> {
  const found: Explanation[] = []
  for (let query: object | null = {}; query; ) {
    const { explanations, after = null }: ExplainAnswer = await get<ExplainAnswer>(path, query)
    found.push(...explanations)
    query = after === null ? null : { after }
  }
  return found
}

type LineageAnswer = { readonly lineage: Ancestor[]; readonly hasMore?: boolean }
type Ancestor = { readonly id: string; readonly at: number }

/** `pathOf`: the path of a conversation's lineage. */
export async function allLineage(get: Get, id: string, pathOf: (id: string) => string): Promise<Ancestor[]> {
  const found: Ancestor[] = []
  const seen = new Set<string>()
  for (let of: string | null = id; of !== null && !seen.has(of); ) {
    seen.add(of)
    const { lineage, hasMore = false }: LineageAnswer = await get<LineageAnswer>(pathOf(of))
    found.push(...lineage)
    of = hasMore ? (lineage.at(-1)?.id ?? null) : null
  }
  return found
}

/** The list entry of a conversation. */
export type RemoteRecord = Omit<ListedConversation, 'settings' | 'fsmState' | 'quarantine' | 'problem'> & {
  /** Set while it is quarantined: no process works on it until an operator releases it. */
  readonly quarantinedAt?: number
  /**
   * Why the server cannot work on it: `conversation_quarantined`, `conversation_unreadable`, or the error of its last
   * attempt.
   */
  readonly problem?: { readonly code: ErrorCode }
  /** Its tenant, which operators name to pause it. Only in `record()`, for operators. */
  readonly tenant?: string
}

/** A row of the audit, with the prompt if the agent has `audit: 'full'`. */
export type RemoteModelCall = ModelCall

/** A row of the audit without the prompt. */
export type ModelCallSummary = Omit<ModelCall, 'renderedContext'>

/** A page of a list: the entries before this id. */
export type RemotePage = { readonly before?: string; readonly limit?: number }

/** The ancestors of a fork, back to the first. `at` is the last event that was copied. */
export type Lineage = readonly { readonly id: string; readonly at: number }[]
