import type { Json, JsonObject } from '../../../src/base/json.ts'
import type { NewEvent, Resolution, SuspensionKind } from '../../../src/log/events.ts'
import type { FinalStatus } from '../../../src/store/records.ts'
import type { Span } from '../compare/span.ts'
import { commit } from './commit.ts'
import { type Call, Refused, type Tenant } from './state.ts'

type Ending = {
  readonly callId: string
  readonly status: FinalStatus
  readonly result: Json
  readonly who: string
}

/** Ends the open round of a call. The row has what was given; the log has an end that the model reads as one. */
export function resolve(tenant: Tenant, ending: Ending, at: Span): 'ok' | 'stale' {
  const call = tenant.calls.get(ending.callId)
  if (call?.status !== 'pending') return 'stale'
  if (call.kind === 'flow') throw new Refused('invalid_argument')
  const { callId, status, result } = ending
  const change = { events: logged(call, ending), resolve: [{ callId, round: call.round, status, result }] }
  return commit(tenant, call.conversationId, change, at, { endsCall: true }).ok ? 'ok' : 'stale'
}

function logged({ round, kind: waitsFor }: Call, { callId, status, result, who }: Ending): NewEvent[] {
  const kind = waitsFor as SuspensionKind
  const resolution = (as: Resolution['status'], value: Json): NewEvent => ({
    type: 'resolution',
    content: { callId, round, kind, status: as, value, who },
  })
  if (status !== 'errored') return [resolution(status, result)]
  if (kind === 'approval') return [resolution('denied', denial(result))]
  return [ended(callId, kind, result), resolution('denied', result)]
}

function ended(callId: string, kind: SuspensionKind, result: Json): NewEvent {
  const error = { callId, ok: false, error: reasonIn(result) } as const
  return { type: 'tool_result', content: kind === 'recovery' ? { ...error, outcome: 'unknown' } : error }
}

/** A denial is read as a text, or by its `reason`. */
function denial(result: Json): Json {
  if (result === null || typeof result === 'string') return result
  const { reason } = members(result)
  return typeof reason === 'string' && reason !== '' ? result : { reason: reasonIn(result) }
}

function reasonIn(result: Json): string {
  if (result === null || result === '') return 'it failed and did not say why'
  if (typeof result === 'string') return result
  const { error, reason, message } = members(result)
  for (const text of [error, reason, message]) if (typeof text === 'string' && text !== '') return text
  return JSON.stringify(result)
}

function members(value: Json): JsonObject {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.assign(Object.create(null), value) : {}
}
