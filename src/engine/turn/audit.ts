import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { ModelRef } from '../../log/events.ts'
import type { AttemptReport } from '../../model/call-model.ts'
import { noReduction, type Reduction } from '../../prompt/budget/reduce.ts'
import { type CommonPrefix, promptJson } from '../../prompt/common-prefix.ts'
import { evictionsOf, type ShapedBy } from '../../prompt/explain.ts'
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

/**
 * Writes one row for each attempt of a model call, as the agent's `audit` says, and logs what the provider warned of. What cannot be written is logged and
 * changes nothing.
 */
export function auditAttempts({ node, ref, agent, store }: TurnContext, call: AuditedCall): Audit {
  const warn = (attempt: AttemptReport): void => {
    for (const warning of newWarnings(attempt, node.logger)) {
      node.logger.warn('a model provider warned', { ...ref, agent: agent.name, ...attempt.model, warning })
    }
  }
  const { observer } = node
  const tell = (attempt: AttemptReport): void => {
    warn(attempt)
    observer?.observe({ type: 'model_attempted', ref, name: agent.name, turnRef: call.turnRef, attempt })
  }
  if (agent.audit === 'off') return { onAttempt: tell, written: async () => {} }
  let writes = Promise.resolve()
  const onAttempt = (attempt: AttemptReport): void => {
    tell(attempt)
    const row = rowOf(call, attempt, agent.audit === 'full', node.redact)
    const failed = (error: unknown) => node.logger.warn('an audit row could not be written', { ...ref, error })
    // One after the other: the order of rows distinguishes attempts of one call.
    writes = writes.then(() => store.putModelCall(ref.id, row)).catch(failed)
  }
  return { onAttempt, written: () => writes }
}

/** The warnings that each logger has received. A provider repeats the same warning in every call. */
const warned = new WeakMap<Logger, Set<string>>()

/** If a model has more warnings than this, they differ from call to call, and go only into the audit. */
const mostWarned = 200

function newWarnings({ model, warnings }: AttemptReport, logger: Logger): readonly string[] {
  if (warnings.length === 0) return warnings
  const known = warned.get(logger) ?? new Set<string>()
  warned.set(logger, known)
  return warnings.filter((warning) => {
    const key = JSON.stringify([model.provider, model.modelId, warning])
    if (known.has(key) || known.size >= mostWarned) return false
    known.add(key)
    return true
  })
}

function rowOf(call: AuditedCall, attempt: AttemptReport, isFull: boolean, redact: Redact): NewModelCall {
  const { turnRef, prompt, seen, reduction = noReduction, prefix = null, shaped = [] } = call
  const byHooks = shaped.length > 0 ? { shaped: shaped as unknown as Json } : {}
  const { model, usage, latencyMs, status, timeToFirstTokenMs, error, warnings } = attempt
  const rendered = typeof prompt === 'function' ? prompt(model) : prompt
  return {
    turnRef,
    renderedContext: isFull ? (JSON.parse(promptJson(rendered)) as Json) : null,
    model: {
      ...model,
      attempt: attempt.attempt,
      ...(error === undefined ? {} : { error: redact(error) }),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
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
