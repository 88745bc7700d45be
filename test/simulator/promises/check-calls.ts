import { callEnd } from '../../../src/log/call-phase.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import type { CallState, TurnState } from '../../../src/log/state.ts'
import type { Effect } from '../scenarios/scenario.ts'
import { ifInterrupted } from '../scenarios/tools.ts'

const mostAttempts = 3
/** In place of a mark, so that no seq is missing. */
const nothing = { type: 'note' as const, content: { name: 'superseded', data: null, who: 'somebody' } }

/**
 * What tools did, against what the log says of it, in withdrawn turns too. `interrupted`: the calls that had been started and had no end when
 * another process took the conversation over.
 */
export function checkCalls(
  log: readonly LogEvent[],
  effects: readonly Effect[],
  interrupted: ReadonlySet<string>,
): string[] {
  const problems: string[] = []
  for (const turn of allTurns(log)) {
    for (const call of turn.calls) {
      if (call.executor !== 'server') continue
      const runs = effects.filter((effect) => effect.callId === call.callId).length
      const found = checkCall(call, turn, runs, interrupted.has(call.callId))
      problems.push(...found.map((problem) => `call of ${call.name}: ${problem}`))
    }
  }
  return problems
}

/** Every turn of a log, also those that another took the place of: what their tools did stays. */
export function allTurns(log: readonly LogEvent[]): readonly TurnState[] {
  const unmarked = log.map((event): LogEvent => (event.type === 'superseded' ? { ...event, ...nothing } : event))
  return foldEvents(unmarked).turns
}

/** Intent is durable before an effect: there are never more runs than the log has starts. */
export function checkStarts(log: readonly LogEvent[], effects: readonly Effect[]): string[] {
  const problems: string[] = []
  for (const [callId, runs] of Map.groupBy(effects, (effect) => effect.callId)) {
    const starts = log.filter((event) => event.type === 'tool_started' && event.content.callId === callId).length
    if (runs.length > starts) problems.push(`${runs[0]!.tool} ran ${runs.length} times and was started ${starts} times`)
  }
  return problems
}

function checkCall(call: CallState, turn: TurnState, runs: number, wasInterrupted: boolean): string[] {
  const problems: string[] = []
  const end = callEnd(call)
  const policy = ifInterrupted[call.name]
  const isCancelled = turn.cancel !== null
  const isUnknown = end?.outcome === 'unknown'
  const wasGiven = call.rounds.some((round) => round.kind === 'recovery' && isGiven(round.resolution?.value))
  if (policy === 'report' && runs > 1) problems.push(`it ran ${runs} times and must run once at most`)
  if (end?.ok && runs === 0 && !wasGiven) problems.push('it has a result and never ran')
  if (isUnknown && !wasInterrupted && !isCancelled) problems.push('it is marked as unknown and was not interrupted')
  if (policy === 'report' && wasInterrupted && !isUnknown) problems.push('it was interrupted and is not marked')
  if (policy !== 'report' && isUnknown && !isCancelled && call.attempts < mostAttempts)
    problems.push('it was not run again')
  return problems
}

function isGiven(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'result' in value
}
