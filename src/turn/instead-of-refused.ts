import type { PerdureError } from '../errors/perdure-error.ts'
import type { Outcome } from '../log/settle.ts'
import type { TurnState } from '../log/state.ts'

/** The store will never take these outcomes (too large, not JSON): what is true and can be recorded in their place. */
export function insteadOfRefused(
  error: PerdureError,
  outcomes: readonly Outcome[],
  open: TurnState | null,
): readonly Outcome[] {
  const results = outcomes.flatMap((outcome): Outcome[] => {
    if (outcome.type !== 'result') return []
    const problem = `it ran, but its result cannot be recorded: ${error.message}`
    return [{ ...outcome, result: { ok: false, error: problem, outcome: 'ran' } }]
  })
  if (results.length > 0 || !open) return results
  return [{ type: 'end', turnId: open.turnId, status: 'failed', reason: error.code }]
}
