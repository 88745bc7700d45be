import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { CommonPrefix } from '../context/common-prefix.ts'
import { evictionsOf, noReduction, type Reduction } from '../context/reduction.ts'
import type { Json } from '../log/json.ts'
import type { AttemptReport } from '../model/model-request.ts'
import type { TurnContext } from './turn-context.ts'

export type AuditedCall = {
  readonly turnRef: string
  readonly kind: 'turn' | 'summary' | 'title'
  readonly prompt: LanguageModelV4Prompt | ((provider: AttemptReport['model']) => LanguageModelV4Prompt)
  /** The last event the prompt was rendered from. */
  readonly seen: number
  readonly reduction?: Reduction
  readonly prefix?: CommonPrefix | null
}

/** Writes one row for each attempt of a model call, as the agent's `audit` says. What cannot be written is logged and changes nothing. */
export function auditAttempts(
  context: TurnContext,
  call: AuditedCall,
): { onAttempt: (attempt: AttemptReport) => void; written: () => Promise<void> } {
  const { agent, store, id, tenant, logger } = context
  if (agent.audit === 'off') return { onAttempt: () => {}, written: async () => {} }
  const writes: Promise<void>[] = []
  const onAttempt = (attempt: AttemptReport): void => {
    const { summary = null } = call.reduction ?? noReduction
    const row = {
      turnRef: call.turnRef,
      renderedContext: renderedContext(call, attempt, agent.audit === 'full'),
      model: { ...attempt.model },
      usage: { ...attempt.usage },
      latencyMs: Math.max(0, Math.round(attempt.latencyMs)),
      status: attempt.status,
      summaryVersion: summary?.version ?? null,
      evictions: evictionsOf(call.reduction ?? noReduction),
    }
    const failed = (error: unknown) => logger.warn('an audit row could not be written', { tenant, id, error })
    writes.push(store.putModelCall(id, row).catch(failed))
  }
  return { onAttempt, written: async () => void (await Promise.all(writes)) }
}

function renderedContext({ kind, prompt, seen, prefix }: AuditedCall, attempt: AttemptReport, isFull: boolean): Json {
  const rendered = typeof prompt === 'function' ? prompt(attempt.model) : prompt
  return {
    kind,
    seen,
    attempt: attempt.attempt,
    timeToFirstTokenMs: attempt.timeToFirstTokenMs,
    ...(attempt.error === undefined ? {} : { error: attempt.error }),
    ...(prefix ? { prefix: { ...prefix } } : {}),
    ...(isFull ? { prompt: JSON.parse(JSON.stringify(rendered, withoutBytes)) as Json } : {}),
  }
}

/** Files are in blobs already; the audit says which kind and how long. */
function withoutBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `[${value.byteLength} bytes]` : value
}
