import type { Json } from '../base/json.ts'
import type { NewEvent, ResolutionStatus, SuspensionKind } from '../log/events.ts'
import type { FinalStatus } from './tool-call.ts'

/** The round of a call that is ended, how, and by whom. */
export type CallEnding = {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly status: FinalStatus
  readonly value: Json
  readonly who: string
}

/**
 * What the log says when a pending call is ended by its id. The log has no word for `errored`, so an approval is denied, and everything else ends with an
 * error result: never with an answer, and never with a run. Whatever part of these events a fork copies, and whatever the call waits for in truth where
 * its row is wrong, the call does not read as granted.
 */
export function eventsOfEnd({ callId, round, kind, status, value, who }: CallEnding): NewEvent[] {
  const resolution = (logged: ResolutionStatus, told: Json): NewEvent => ({
    type: 'resolution',
    content: { callId, round, kind, status: logged, value: told, who },
  })
  if (status !== 'errored') return [resolution(status, value)]
  const denied = resolution('denied', loggedError(kind, value))
  if (kind === 'approval') return [denied]
  // Only a call that was started is recovered, and it may have taken effect.
  const unknown = kind === 'recovery' ? { outcome: 'unknown' as const } : {}
  const result = { callId, ok: false as const, error: errorIn(value), ...unknown }
  // The result ends the call; the resolution after it says who closed the round.
  return [{ type: 'tool_result', content: result }, denied]
}

/** The value of the resolution for a row that was ended as `errored` with this result: a denial is read as a text, or by its `reason`. */
export function loggedError(kind: SuspensionKind, value: Json): Json {
  if (kind !== 'approval' || value === null || typeof value === 'string') return value
  return isText(fieldOf(value, 'reason')) ? value : { reason: errorIn(value) }
}

/** The page and the child agent answer with how the call went; to all others `ok` is a word like any other. */
export function tellsHowItWent(kind: SuspensionKind): boolean {
  return kind === 'client_exec' || kind === 'sub_agent'
}

function errorIn(value: Json): string {
  if (value === null || value === '') return 'it failed and did not say why'
  const told = [value, fieldOf(value, 'error'), fieldOf(value, 'reason'), fieldOf(value, 'message')].find(isText)
  return told ?? JSON.stringify(value)
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

function fieldOf(value: Json, name: string): Json | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, name) ? (value as { readonly [key: string]: Json })[name] : undefined
}
