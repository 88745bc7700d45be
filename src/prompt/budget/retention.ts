import type { Retention } from '../../define/tool.ts'
import { callEnd } from '../../log/call-phase.ts'
import type { TurnState } from '../../log/state.ts'

/**
 * The ended calls whose results have been kept long enough, each with the reason: past so many turns (`age`), or not among the newest so
 * many of their tool (`count`). Those of the newest message are always kept: the model has not read them yet.
 */
export function stubbedCalls(
  turns: readonly TurnState[],
  retentionOf: (toolName: string) => Retention,
): Map<string, string> {
  const newerOfTool = new Map<string, number>()
  const stubbed = new Map<string, string>()
  const unread = callsOfNewestMessage(turns.at(-1))
  for (const [age, turn] of turns.toReversed().entries()) {
    for (const call of turn.calls.toReversed()) {
      if (!callEnd(call)) continue
      const newer = newerOfTool.get(call.name) ?? 0
      newerOfTool.set(call.name, newer + 1)
      const retention = retentionOf(call.name)
      if (retention === 'never' || unread.has(call.callId)) continue
      if (retention.mode === 'age' && age > 0 && age >= retention.value)
        stubbed.set(call.callId, `it is ${age} turns old; the retention of '${call.name}' is ${retention.value} turns`)
      if (retention.mode === 'count' && newer >= retention.value)
        stubbed.set(
          call.callId,
          `there are ${newer} newer results of '${call.name}'; its retention is ${retention.value}`,
        )
    }
  }
  return stubbed
}

function callsOfNewestMessage(turn: TurnState | undefined): Set<string> {
  const newest = turn?.items.findLast((item) => item.type === 'assistant')
  const parts = newest?.type === 'assistant' ? newest.parts : []
  return new Set(parts.flatMap((part) => (part.type === 'call' ? [part.callId] : [])))
}
