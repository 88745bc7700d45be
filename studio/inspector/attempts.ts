import type { ModelCallSummary } from 'perdure/client'
import type { Span } from './spans.ts'

/** An attempt at a model call, as a bar of the timeline. */
export type AttemptSpan = Pick<Span, 'name' | 'from' | 'status' | 'turnRef'> & {
  readonly to: number
  readonly firstTokenAt?: number
  readonly detail?: string
}

/** The audit by model call. A row is written when its attempt has ended. */
export function attemptSpans(calls: readonly ModelCallSummary[]): Map<string, AttemptSpan[]> {
  const found = new Map<string, AttemptSpan[]>()
  for (const call of calls) {
    const { provider, modelId, attempt, error } = modelOf(call)
    const from = call.at - (call.latencyMs ?? 0)
    const { timeToFirstTokenMs } = usageOf(call)
    const detail = [attempt > 1 ? `attempt ${attempt}` : '', error ?? ''].filter(Boolean).join(': ')
    const span: AttemptSpan = {
      name: modelId ?? provider ?? 'model',
      from,
      to: call.at,
      turnRef: call.turnRef,
      status:
        call.status === 'ok' || call.status === 'complete'
          ? 'ok'
          : call.status === 'cancelled'
            ? 'cancelled'
            : 'failed',
      ...(timeToFirstTokenMs === null ? {} : { firstTokenAt: from + timeToFirstTokenMs }),
      ...(detail ? { detail } : {}),
    }
    found.set(call.turnRef, [...(found.get(call.turnRef) ?? []), span])
  }
  return found
}

/** The calls that had begun when a log ended with this event. */
export function callsBefore(calls: readonly ModelCallSummary[], end: number): ModelCallSummary[] {
  return calls.filter(({ evictions }) => {
    const { seen } = Object(evictions) as { seen?: unknown }
    return typeof seen !== 'number' || seen <= end
  })
}

/** Which model an audit row is about. */
export function modelOf({ model }: Pick<ModelCallSummary, 'model'>): {
  readonly provider: string | null
  readonly modelId: string | null
  readonly attempt: number
  readonly error: string | null
  readonly warnings: readonly string[]
} {
  const { provider, modelId, attempt, error, warnings } = Object(model) as Record<string, unknown>
  return {
    provider: textOrNull(provider),
    modelId: textOrNull(modelId),
    attempt: typeof attempt === 'number' ? attempt : 1,
    error: textOrNull(error),
    warnings: Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : [],
  }
}

/** The tokens of an audit row. A count that is not known is null. */
export function usageOf({ usage }: Pick<ModelCallSummary, 'usage'>): Readonly<Record<UsageName, number | null>> {
  const counts = Object(usage) as Record<string, unknown>
  return Object.fromEntries(
    usageNames.map((name) => [name, typeof counts[name] === 'number' ? counts[name] : null]),
  ) as Record<UsageName, number | null>
}

const usageNames = [
  ...['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens', 'timeToFirstTokenMs'],
] as const
type UsageName =
  | 'inputTokens'
  | 'outputTokens'
  | 'cacheReadTokens'
  | 'cacheWriteTokens'
  | 'reasoningTokens'
  | 'timeToFirstTokenMs'

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
