import { errorCodes } from '../../base/errors/codes.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Outcome } from '../../log/settle.ts'
import type { TurnState } from '../../log/state.ts'

/** The results, then the end of the turn in their place: a third refusal in a row is not about what was to be written. */
const mostInARow = 2

/** What was refused since a commit was made. */
export class Refusals {
  #inARow = 0

  committed(): void {
    this.#inARow = 0
  }

  /** What is to be recorded in place of these outcomes. Throws the error where the store takes nothing at all. */
  instead(error: PerdureError, outcomes: readonly Outcome[], open: TurnState | null): readonly Outcome[] {
    this.#inARow += 1
    if (errorCodes[error.code].family === 'store' || this.#inARow > mostInARow) throw error
    return insteadOfRefused(error, outcomes, open)
  }
}

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
