import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { ModelRef } from '../../log/events.ts'
import type { AttemptReport } from '../../model/call-model.ts'
import { type CommonPrefix, promptJson } from '../../prompt/common-prefix.ts'
import { evictionsOf, type ShapedBy } from '../../prompt/explain.ts'
import { noReduction, type Reduction } from '../../prompt/render/reduction.ts'
import type { NewModelCall } from '../../store/records.ts'
import type { TurnContext } from './turn-context.ts'

export type AuditedCall = {
  /** A summary's begins with `summary/`, a title's with `title/`. */
  readonly turnRef: string
  readonly prompt: LanguageModelV4Prompt | ((model: ModelRef) => LanguageModelV4Prompt)
  /** The last event the prompt was rendered from. */
  readonly seen: number
  readonly reduction?: Reduction
  /** What the prompt has in common with the one before; null when that is not known here. */
  readonly prefix?: CommonPrefix | null
  /** What hooks changed of the call. */
  readonly shaped?: readonly ShapedBy[]
}

export type Audit = {
  readonly onAttempt: (attempt: AttemptReport) => void
  /** Resolves when all rows are there. */
  readonly written: () => Promise<void>
}

/** Writes one row for each attempt of a model call, as the agent's `audit` says. What cannot be written is logged and changes nothing. */
export function auditAttempts({ node, ref, agent, store }: TurnContext, call: AuditedCall): Audit {
  if (agent.audit === 'off') return { onAttempt: () => {}, written: async () => {} }
  let writes = Promise.resolve()
  const onAttempt = (attempt: AttemptReport): void => {
    const row = rowOf(call, attempt, agent.audit === 'full', node.redact)
    const failed = (error: unknown) => node.logger.warn('an audit row could not be written', { ...ref, error })
    // One after the other: rows of one call are told apart by their order.
    writes = writes.then(() => store.putModelCall(ref.id, row)).catch(failed)
  }
  return { onAttempt, written: () => writes }
}

function rowOf(call: AuditedCall, attempt: AttemptReport, isFull: boolean, redact: Redact): NewModelCall {
  const { turnRef, prompt, seen, reduction = noReduction, prefix = null, shaped = [] } = call
  const byHooks = shaped.length > 0 ? { shaped: shaped as unknown as Json } : {}
  const { model, usage, latencyMs, status, timeToFirstTokenMs, error } = attempt
  const rendered = typeof prompt === 'function' ? prompt(model) : prompt
  return {
    turnRef,
    renderedContext: isFull ? (JSON.parse(promptJson(rendered)) as Json) : null,
    model: { ...model, attempt: attempt.attempt, ...(error === undefined ? {} : { error: redact(error) }) },
    usage: { ...usage, timeToFirstTokenMs },
    latencyMs: Math.max(0, Math.round(latencyMs)),
    status,
    summaryVersion: reduction.summary?.version ?? null,
    evictions: { seen, evicted: evictionsOf(reduction), prefix: prefix && { ...prefix }, ...byHooks },
  }
}

/** Names one model call of a turn; padded, so that the refs of a turn sort by step. */
export function turnRef(turnId: string, step: number): string {
  return `${turnId}/${String(Math.max(0, step)).padStart(4, '0')}`
}
