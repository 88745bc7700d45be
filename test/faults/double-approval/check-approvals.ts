import type { LogEvent } from '../../../src/log/events.ts'
import type { Attempt, Effect } from './approver-child.ts'

export type Approved = {
  readonly callId: string
  /** The whole log of the call's conversation. */
  readonly events: readonly LogEvent[]
  readonly attempts: readonly Attempt[]
  readonly effects: readonly Effect[]
}

/** One side effect, one of everything in the log, one winner, and a loser who was told the truth about it. */
export function checkApproved({ callId, events, attempts, effects }: Approved): string[] {
  const violations: string[] = []
  const ofCall = events.filter((event) => 'callId' in event.content && event.content.callId === callId)
  for (const type of ['tool_call', 'suspension', 'resolution', 'tool_started', 'tool_result'] as const) {
    const count = ofCall.filter((event) => event.type === type).length
    if (count !== 1) violations.push(`${callId} has ${count} events of type ${type}`)
  }
  const result = ofCall.find((event) => event.type === 'tool_result')
  if (!result?.content.ok) violations.push(`${callId} is said to have failed`)
  const ended = events.filter((event) => event.type === 'turn_ended')
  if (ended.length !== 1 || ended[0]?.content.status !== 'completed')
    violations.push(`the turn of ${callId} went wrong`)
  if (effects.length !== 1) violations.push(`${callId} was paid ${effects.length} times`)

  const resolution = ofCall.find((event) => event.type === 'resolution')
  const winner = resolution?.content.who
  for (const { by } of effects) {
    if (by !== winner) violations.push(`${callId} was approved by ${winner} and ran for ${by}`)
  }
  for (const { who, outcome } of attempts) {
    if ('failure' in outcome) violations.push(`${who} met ${outcome.failure.name}: ${outcome.failure.message}`)
    else if (outcome.accepted) {
      if (who !== winner) violations.push(`${who} was told it approved ${callId}, and ${winner} did`)
    } else if (who === winner) violations.push(`${who} was told it was late for ${callId}, and it was first`)
    else {
      const { who: told, at, status, value } = outcome.resolution
      const isTrue = told === winner && at === resolution?.at && status === 'resolved' && value === true
      if (!isTrue) violations.push(`${who} was told that ${told} decided on ${callId} at ${at}: ${status}`)
    }
  }
  return violations
}
