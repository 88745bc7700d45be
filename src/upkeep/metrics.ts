import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Store } from '../store/store.ts'
import type { StoredFigures } from '../store/upkeep.ts'
import { prometheusText, type TextMetric, type TextSample } from './prometheus-text.ts'
import { type Percentiles, type Stats, statsIn } from './stats.ts'

/** How far back the figures of `/metrics` go. Longer than the usual interval between two scrapes, so that none falls between them. */
const recentMs = 300_000

/** How a whole store stands now, of all tenants. Ages and lags are in seconds. */
export type StoreGauges = Readonly<Record<'waiting' | 'oldestWaiting' | 'overdue' | 'expiryLag' | 'leases', number>>

/** Pure. */
export function gaugesOf({ now, inbox, expiry, nodes }: StoredFigures): StoreGauges {
  return {
    waiting: inbox.waiting,
    oldestWaiting: secondsSince(inbox.oldestAt, now),
    overdue: expiry.overdue,
    expiryLag: secondsSince(expiry.oldestDueAt, now),
    leases: nodes.reduce((sum, { leases }) => sum + leases, 0),
  }
}

/** Reads what the store has recorded, and writes it for Prometheus. Throws when the store does not offer it. */
export async function readMetrics({ upkeep }: Pick<Store, 'upkeep'>): Promise<string> {
  if (!upkeep?.figures) throw new InvalidArgumentError('store', 'does not offer figures')
  return prometheusText(metricsOf(await upkeep.figures(recentMs)))
}

/** Pure. The names of tenants, conversations and users are in none of them. */
export function metricsOf(figures: StoredFigures): TextMetric[] {
  const now = gaugesOf(figures)
  const recent = statsIn(figures, { bucketMs: recentMs, count: 1 })
  const bucket = recent.buckets[0]!
  const turns = Object.entries(bucket.turns).map(([status, value]) => ({ labels: { status }, value }))
  return [
    gauge('perdure_inbox_waiting', 'Calls and sessions that wait for a person.', now.waiting),
    gauge('perdure_inbox_oldest_age_seconds', 'How long the oldest of them has waited.', now.oldestWaiting),
    gauge('perdure_expiry_overdue', 'Deadlines that have passed and whose calls still wait.', now.overdue),
    gauge('perdure_expiry_lag_seconds', 'How long ago the oldest of them passed.', now.expiryLag),
    gauge('perdure_leases_held', 'Leases that processes hold.', now.leases),
    gauge('perdure_nodes', 'Processes that hold leases.', figures.nodes.length),
    gauge('perdure_store_bytes', 'Bytes that the store takes on disk.', figures.storeBytes),
    gauge('perdure_recent_turns', 'Turns that ended in the last five minutes.', turns),
    gauge('perdure_recent_errors', 'Failed turns and model calls of the last five minutes.', errors(recent)),
    gauge('perdure_recent_tokens', 'Tokens of audited model calls of the last five minutes.', tokens(recent)),
    gauge('perdure_recent_model_seconds', 'Durations of audited model calls.', quantiles(bucket.model)),
    gauge(
      'perdure_recent_first_token_seconds',
      'Audited model calls, to the first token.',
      quantiles(bucket.firstToken),
    ),
    gauge('perdure_recent_tool_seconds', 'Durations of tools.', quantiles(bucket.tool)),
    gauge('perdure_recent_is_partial', 'Whether there was more than is read at once.', figures.isPartial ? 1 : 0),
  ]
}

function gauge(name: string, help: string, given: number | null | readonly TextSample[]): TextMetric {
  const samples = typeof given === 'number' ? [{ value: given }] : (given ?? [])
  return { name, type: 'gauge', help, samples }
}

function errors({ errors: found }: Pick<Stats, 'errors'>): TextSample[] {
  return found.map(({ code, count }) => ({ labels: { code }, value: count }))
}

function tokens({ models }: Pick<Stats, 'models'>): TextSample[] {
  return models.flatMap(({ model, inputTokens, outputTokens }) => [
    { labels: { model, type: 'input' }, value: inputTokens },
    { labels: { model, type: 'output' }, value: outputTokens },
  ])
}

function quantiles(found: Percentiles | null): TextSample[] {
  if (!found) return []
  return [
    { labels: { quantile: '0.5' }, value: found.p50 / 1_000 },
    { labels: { quantile: '0.99' }, value: found.p99 / 1_000 },
  ]
}

function secondsSince(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, now - at) / 1_000
}
