import type { Json } from '../../base/json.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { AssistantPart, CallResult } from '../../log/events.ts'
import type { DraftCall, MessageOutcome, Outcome, Verdict } from '../../log/settle.ts'

/** An outcome without the secrets in what tools, hooks and providers said when they failed. Whatever is committed for a turn has passed it. */
export function redactOutcome(outcome: Outcome, redact: Redact): Outcome {
  switch (outcome.type) {
    case 'result':
      return outcome.result.ok ? outcome : { ...outcome, result: redactResult(outcome.result, redact) }
    case 'end':
      return outcome.reason === null ? outcome : { ...outcome, reason: redact(outcome.reason) }
    case 'message':
      return redactMessage(outcome, redact)
    case 'cancel':
      return outcome.partial ? { ...outcome, partial: redactDraft(outcome.partial, redact) } : outcome
    case 'injection':
    case 'title':
      return outcome
  }
}

function redactMessage(outcome: MessageOutcome, redact: Redact): MessageOutcome {
  const { failure, verdict } = outcome
  return {
    ...redactDraft(outcome, redact),
    ...(failure === undefined ? {} : { failure: redact(failure) }),
    ...(verdict === undefined ? {} : { verdict: redactVerdict(verdict, redact) }),
  }
}

function redactDraft<Draft extends Pick<MessageOutcome, 'parts' | 'calls'>>(draft: Draft, redact: Redact): Draft {
  if (!draft.parts.some(isFailure) && !draft.calls.some(isRefused)) return draft
  return {
    ...draft,
    parts: draft.parts.map((part) => (isFailure(part) ? { ...part, result: redactJson(part.result, redact) } : part)),
    calls: draft.calls.map((call) => (isRefused(call) ? { ...call, result: redactResult(call.result, redact) } : call)),
  }
}

/** What a hook says is meant for the model or for people, and often quotes what it was thrown. */
function redactVerdict(verdict: Verdict, redact: Redact): Verdict {
  if (verdict.type === 'regenerate') return { ...verdict, feedback: redact(verdict.feedback) }
  return { ...verdict, reason: redact(verdict.reason) }
}

function redactResult<Result extends CallResult>(result: Result, redact: Redact): Result {
  return result.ok ? result : { ...result, error: redact(result.error) }
}

type ProviderFailure = Extract<AssistantPart, { type: 'provider_result' }>

function isFailure(part: AssistantPart): part is ProviderFailure {
  return part.type === 'provider_result' && part.isError === true
}

function isRefused(call: DraftCall): call is DraftCall & { readonly result: CallResult } {
  return call.result?.ok === false
}

function redactJson(value: Json, redact: Redact): Json {
  if (typeof value === 'string') return redact(value, { opaqueWords: true })
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((member: Json) => redactJson(member, redact))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactJson(member, redact)]))
}
