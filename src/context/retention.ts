import { callEnd } from '../log/call-phase.ts'
import type { TurnState } from '../log/state.ts'
import type { Retention } from '../tool/tool.ts'

/**
 * The ended calls whose results have been kept long enough: past so many turns (`age`), or not among the newest so many of their tool
 * (`count`). Those of the newest turn are always kept: the model may be in the middle of using them.
 */
export function stubbedCalls(turns: readonly TurnState[], retentionOf: (toolName: string) => Retention): string[] {
  const newerOfTool = new Map<string, number>()
  const stubbed: string[] = []
  for (const [age, turn] of turns.toReversed().entries()) {
    for (const call of turn.calls.toReversed()) {
      if (!callEnd(call)) continue
      const newer = newerOfTool.get(call.name) ?? 0
      newerOfTool.set(call.name, newer + 1)
      const retention = retentionOf(call.name)
      if (retention === 'never' || age === 0) continue
      if ((retention.mode === 'age' ? age : newer) >= retention.value) stubbed.push(call.callId)
    }
  }
  return stubbed
}
