import type { CallResult, InterruptedEnd, SuspensionKind } from './events.ts'
import type { CallState, Round } from './state.ts'

/**
 * Where a call stands.
 * `unasked`: it must suspend (again) before it can continue. `ready`: it may be started. `pending`: it waits for an answer.
 * `started`: a `tool_started` without an end. `recovered`: a person decided about an interrupted call, and no result is recorded yet.
 */
export type CallPhase =
  | { readonly type: 'unasked'; readonly kind: SuspensionKind }
  | { readonly type: 'ready' }
  | { readonly type: 'pending'; readonly round: Round }
  | { readonly type: 'started' }
  | { readonly type: 'recovered'; readonly end: CallEnd }
  | { readonly type: 'ended'; readonly end: CallEnd }

/** How a call ended, as the model and the user read it. `userFacing`: the error is meant for people, so pages may show it. */
export type CallEnd = CallResult & { readonly outcome?: InterruptedEnd; readonly userFacing?: true }

/** Where a call stands, decided from the log alone. */
export function callPhase(call: CallState): CallPhase {
  if (call.result) {
    const { seq: _, leftOut: __, ...end } = call.result
    return { type: 'ended', end }
  }
  const last = call.rounds.at(-1)
  if (last && !last.resolution) return { type: 'pending', round: last }
  const ended = last ? endByResolution(call, last) : null
  if (ended) return { type: 'ended', end: ended }
  if (last?.kind === 'recovery' && last.resolution!.seq > call.startedSeq) return afterRecovery(last)
  if (last?.toolState !== undefined && last.resolution!.seq > call.startedSeq) return { type: 'ready' }
  if (call.attempts > 0) return { type: 'started' }
  if (call.gated && !last) return { type: 'unasked', kind: 'approval' }
  switch (call.executor) {
    case 'human':
      return { type: 'unasked', kind: 'elicitation' }
    case 'client':
      return { type: 'unasked', kind: 'client_exec' }
    case 'agent':
      return { type: 'unasked', kind: 'sub_agent' }
    default:
      return { type: 'ready' }
  }
}

/** How a call ended; null while it is open. */
export function callEnd(call: CallState): CallEnd | null {
  const phase = callPhase(call)
  return phase.type === 'ended' ? phase.end : null
}

/** The arguments a call runs with: the model's, or a person's edit of them. */
export function effectiveArgs(call: CallState): CallState['args'] {
  const edited = call.rounds.findLast((round) => round.resolution?.edited)?.resolution?.edited
  return edited ? edited.after : call.args
}

/** When the round expires, by the store's clock; null: it waits forever. */
export function deadlineOf({ at, expiresInMs, moved = { at, expiresInMs } }: Round): number | null {
  return moved.expiresInMs === null ? null : moved.at + moved.expiresInMs
}

export const expiredError = 'tool call expired: no response'

function endByResolution(call: CallState, round: Round): CallEnd | null {
  const { status, value } = round.resolution!
  if (status === 'resolved') {
    // The answer's schema is a boolean, so a plain "false" must never run the tool.
    if (round.kind === 'approval')
      return value === false ? { ok: false, error: endError('denied', null), userFacing: true } : null
    if (round.kind === 'recovery' || round.toolState !== undefined) return null
    if (round.kind === 'elicitation') return { ok: true, result: value }
    const end = asCallResult(value)
    // A page may read the error it reported for its own tool. A child agent's error comes from tools and providers, so it stays hidden.
    return end.ok || round.kind === 'sub_agent' ? end : { ...end, userFacing: true }
  }
  // A started call may have had its effect before it was denied, expired or cancelled.
  const unknown = call.attempts > 0 ? { outcome: 'unknown' as const } : {}
  return { ok: false, error: endError(status, value), userFacing: true, ...unknown }
}

function endError(status: 'denied' | 'expired' | 'cancelled', value: unknown): string {
  if (status === 'expired') return expiredError
  if (status === 'cancelled') return 'tool call cancelled'
  const reason = isObject(value) ? value['reason'] : value
  return typeof reason === 'string' && reason !== '' ? `tool call denied: ${reason}` : 'tool call denied'
}

/**
 * Client and child answers are `{ ok, result
 * error }`. Any other value is the result itself.
 */
function asCallResult(value: CallState['args']): CallResult {
  if (!isObject(value)) return { ok: true, result: value }
  if (value['ok'] === true && 'result' in value) return { ok: true, result: value['result']! }
  if (value['ok'] === false && 'error' in value) {
    const error = value['error']
    return { ok: false, error: typeof error === 'string' ? error : JSON.stringify(error) }
  }
  return { ok: true, result: value }
}

function afterRecovery(round: Round): CallPhase {
  const { value } = round.resolution!
  if (value === 'rerun') return { type: 'ready' }
  if (isObject(value) && 'result' in value) return { type: 'recovered', end: { ok: true, result: value['result']! } }
  return { type: 'recovered', end: interruptedEnd }
}

export const interruptedEnd: Extract<CallEnd, { ok: false }> = {
  ok: false,
  error: 'interrupted: the tool was started and its outcome is unknown; it may have taken effect',
  outcome: 'unknown',
}

function isObject(value: unknown): value is { readonly [key: string]: CallState['args'] } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
