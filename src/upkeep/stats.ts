import { errorCodes } from '../base/errors/codes.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { checkOneOf } from '../store/checks.ts'
import type { Store } from '../store/store.ts'
import type { StoredFigures } from '../store/upkeep.ts'

/** How a server and its store have been doing, for operators: figures of all tenants, in buckets that a chart can draw. */
export type Stats = {
  readonly window: StatsWindow
  /** The moment that the figures end with, by the store's clock. */
  readonly at: number
  readonly bucketMs: number
  /** Oldest first, without gaps. The last one ends at `at`. */
  readonly buckets: readonly StatsBucket[]
  /** Tokens of audited model calls, the model with the most first. At most 50 models. */
  readonly models: readonly ModelTokens[]
  /** Turns that failed and model calls that did, by error code, the most frequent first. At most 50 codes. */
  readonly errors: readonly { readonly code: string; readonly count: number }[]
  /** What waits for an answer in any tenant now. */
  readonly inbox: { readonly waiting: number; readonly oldestAt: number | null }
  /** Who holds leases now. */
  readonly nodes: readonly StatsNode[]
  /** Deadlines that have passed and whose calls still wait. `lagMs`: how long ago the oldest of them passed; 0 when there are none. */
  readonly expiry: { readonly overdue: number; readonly lagMs: number }
  /** Bytes that the store takes on disk; null where it does not say. */
  readonly storeBytes: number | null
  /** There was more in the window than is read at once. The figures are of the newest part, and older buckets are empty. */
  readonly isPartial: boolean
}

/** How far back figures go. */
export type StatsWindow = 'hour' | 'day'

/** The figures of one part of the window. */
export type StatsBucket = {
  /** When it begins. */
  readonly at: number
  /** Turns that ended in it, by how they ended. */
  readonly turns: { readonly [status: string]: number }
  /** How long model calls took. Only of agents with `audit`. */
  readonly model: Percentiles | null
  /** From the beginning of a model call to its first token. Only of agents with `audit`. */
  readonly firstToken: Percentiles | null
  /** From a person's answer to the first token of the model call after it. Only of agents with `audit`. */
  readonly answerToFirstToken: Percentiles | null
  /** How long the oldest question had waited when the bucket ended, in milliseconds; null when none did. */
  readonly oldestWaitMs: number | null
  /** From the start of a tool to its result. */
  readonly tool: Percentiles | null
  /** Tokens of audited model calls. */
  readonly tokens: number
  readonly errors: number
}

/** In milliseconds, over `count` values. */
export type Percentiles = { readonly count: number; readonly p50: number; readonly p99: number }

/** What a model was used for. */
export type ModelTokens = {
  readonly model: string
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A process that holds leases, by the name it takes them with. */
export type StatsNode = {
  readonly holder: string
  readonly leases: number
  /** When the first of them lapses unless it is renewed. */
  readonly nextLapseAt: number
}

const bucketsIn = { hour: { bucketMs: 60_000, count: 60 }, day: { bucketMs: 900_000, count: 96 } } as const
const mostNamed = 50

/** Reads what the store has recorded, and makes figures of it. Throws when the store does not offer it. */
export async function readStats(store: Pick<Store, 'upkeep'>, window: StatsWindow = 'hour'): Promise<Stats> {
  checkOneOf('window', window, ['hour', 'day'])
  const { upkeep } = store
  if (!upkeep?.figures) throw new InvalidArgumentError('store', 'does not offer figures')
  const { bucketMs, count } = bucketsIn[window]
  return statsOf(await upkeep.figures(bucketMs * count), window)
}

/** Pure. */
export function statsOf(figures: StoredFigures, window: StatsWindow): Stats {
  return { window, ...statsIn(figures, bucketsIn[window]) }
}

/** The same, in `count` buckets of that length. Pure. */
export function statsIn(
  figures: StoredFigures,
  { bucketMs, count }: { readonly bucketMs: number; readonly count: number },
): Omit<Stats, 'window'> {
  const { now, events, modelCalls, inbox, answered, nodes, expiry, storeBytes, isPartial } = figures
  const start = now - bucketMs * count
  const buckets = Array.from({ length: count }, (_, index) => new Bucket(start + index * bucketMs))
  const bucketAt = (at: number) => buckets[Math.min(count - 1, Math.floor((at - start) / bucketMs))]
  const errors = new Map<string, number>()
  const models = new Map<string, ModelTokens>()
  const fail = (bucket: Bucket | undefined, code: string): void => {
    if (bucket) bucket.errors += 1
    errors.set(code, (errors.get(code) ?? 0) + 1)
  }
  const started = new Map(
    events.filter(({ type }) => type === 'tool_started').map((event) => [`${event.log}\0${event.callId}`, event.at]),
  )
  for (const { log, type, at, callId, status, reason } of events) {
    const bucket = bucketAt(at)
    if (!bucket) continue
    if (type === 'turn_ended') {
      bucket.turns[status ?? 'unknown'] = (bucket.turns[status ?? 'unknown'] ?? 0) + 1
      if (status === 'failed') fail(bucket, codeIn(reason))
    }
    const begunAt = type === 'tool_result' ? started.get(`${log}\0${callId}`) : undefined
    if (begunAt !== undefined) bucket.tool.push(Math.max(0, at - begunAt))
  }
  for (const call of modelCalls) {
    const bucket = bucketAt(call.at)
    if (!bucket) continue
    if (call.latencyMs !== null) bucket.model.push(call.latencyMs)
    const { inputTokens, outputTokens, timeToFirstTokenMs } = numbersIn(call.usage)
    if (timeToFirstTokenMs !== null) bucket.firstToken.push(timeToFirstTokenMs)
    const name = modelName(call.model)
    const known = models.get(name) ?? { model: name, calls: 0, inputTokens: 0, outputTokens: 0 }
    const [input, output] = [inputTokens ?? 0, outputTokens ?? 0]
    models.set(name, {
      model: name,
      calls: known.calls + 1,
      inputTokens: known.inputTokens + input,
      outputTokens: known.outputTokens + output,
    })
    bucket.tokens += input + output
  }
  for (const { at, ms } of answersToFirstTokens(figures)) bucketAt(at)?.answer.push(ms)
  const oldestWait = oldestWaits([
    ...answered,
    { createdAt: inbox.oldestAt ?? now, resolvedAt: Number.POSITIVE_INFINITY },
  ])
  return {
    at: now,
    bucketMs,
    buckets: buckets.map((bucket) => bucket.done(oldestWait(bucket.at + bucketMs))),
    models: [...models.values()].sort((one, other) => tokensOf(other) - tokensOf(one)).slice(0, mostNamed),
    errors: [...errors]
      .map(([code, total]) => ({ code, count: total }))
      .sort((one, other) => other.count - one.count)
      .slice(0, mostNamed),
    inbox,
    nodes,
    storeBytes,
    isPartial,
    expiry: { overdue: expiry.overdue, lagMs: expiry.oldestDueAt === null ? 0 : Math.max(0, now - expiry.oldestDueAt) },
  }
}

class Bucket {
  readonly at: number
  readonly turns: Record<string, number> = {}
  readonly model: number[] = []
  readonly firstToken: number[] = []
  readonly answer: number[] = []
  readonly tool: number[] = []
  tokens = 0
  errors = 0

  constructor(at: number) {
    this.at = at
  }

  done(oldestWaitMs: number | null): StatsBucket {
    const { at, turns, tokens, errors } = this
    const measured = {
      model: percentiles(this.model),
      firstToken: percentiles(this.firstToken),
      answerToFirstToken: percentiles(this.answer),
      tool: percentiles(this.tool),
    }
    return { at, turns, ...measured, oldestWaitMs, tokens, errors }
  }
}

/**
 * Of each model call, how long before its first token the last answer in its log was given. A turn that ended between them did not wait for the answer, and a call
 * without a token is tried again.
 */
function answersToFirstTokens({ events, modelCalls }: StoredFigures): { readonly at: number; readonly ms: number }[] {
  const moments: Moment[] = modelCalls.map((call) => ({ log: call.log, at: call.at, order: 1, call }))
  for (const { log, type, at, status } of events) {
    if (type === 'turn_ended') moments.push({ log, at, order: 2 })
    if (type === 'resolution' && (status === 'resolved' || status === 'denied')) moments.push({ log, at, order: 0 })
  }
  const found: { at: number; ms: number }[] = []
  const answeredAt = new Map<string | number, number>()
  for (const { log, at, order, call } of moments.sort((one, other) => one.at - other.at || one.order - other.order)) {
    if (order === 0) answeredAt.set(log, at)
    const since = answeredAt.get(log)
    const { timeToFirstTokenMs } = numbersIn(call?.usage ?? null)
    if (call && since !== undefined && timeToFirstTokenMs !== null) {
      const firstAt = at - Math.max(0, (call.latencyMs ?? 0) - timeToFirstTokenMs)
      found.push({ at, ms: Math.max(0, firstAt - since) })
    }
    if (order === 2 || timeToFirstTokenMs !== null) answeredAt.delete(log)
  }
  return found
}

/** `order`: in one millisecond an answer is before the call that follows it, and the end of a turn after. */
type Moment = {
  readonly log: string | number
  readonly at: number
  readonly order: 0 | 1 | 2
  readonly call?: StoredFigures['modelCalls'][number]
}

/** How long the oldest of some waits had waited at a moment. Of those that still wait, the oldest is enough. */
function oldestWaits(waits: readonly { readonly createdAt: number; readonly resolvedAt: number }[]) {
  const byAge = [...waits].sort((one, other) => one.createdAt - other.createdAt)
  return (at: number): number | null => {
    const oldest = byAge.find(({ createdAt, resolvedAt }) => createdAt < at && at < resolvedAt)
    return oldest ? at - oldest.createdAt : null
  }
}

function percentiles(values: number[]): Percentiles | null {
  if (values.length === 0) return null
  const sorted = values.sort((one, other) => one - other)
  const place = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!
  return { count: sorted.length, p50: place(0.5), p99: place(0.99) }
}

function tokensOf({ inputTokens, outputTokens }: ModelTokens): number {
  return inputTokens + outputTokens
}

/** The code that the reason of a failed turn begins with. */
function codeIn(reason: string | null): string {
  const code = /^[a-z_]+/.exec(reason ?? '')?.[0] ?? ''
  return code in errorCodes ? code : 'failed'
}

type Numbers = Record<'inputTokens' | 'outputTokens' | 'timeToFirstTokenMs', number | null>

function numbersIn(usage: string | null): Numbers {
  const read = Object(parsed(usage)) as Record<string, unknown>
  const whole = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null)
  const { inputTokens, outputTokens, timeToFirstTokenMs } = read
  return {
    inputTokens: whole(inputTokens),
    outputTokens: whole(outputTokens),
    timeToFirstTokenMs: whole(timeToFirstTokenMs),
  }
}

/** A short name: it is text of a provider. */
function modelName(model: string | null): string {
  const { provider, modelId } = Object(parsed(model)) as { readonly provider?: unknown; readonly modelId?: unknown }
  return `${String(provider ?? 'unknown')}/${String(modelId ?? 'unknown')}`.slice(0, 200)
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
