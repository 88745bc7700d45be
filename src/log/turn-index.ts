import type { TurnState } from './state.ts'

/** The newest turn of each id, by its position. */
export class TurnIndex {
  #positions: Map<string, number> | null
  #hasLooked = false
  /** Whether the positions are what another index would find in these turns. */
  #isExact = true

  /** The index that a fold left for these turns, if it did: a log that is read page by page would else build one with each page. */
  constructor(turns: readonly TurnState[]) {
    this.#positions = kept.get(turns) ?? null
    // It grows with one fold only.
    kept.delete(turns)
  }

  /** Most new turns have a new id. Searching all turns for each one would make a long fold quadratic, so the second lookup builds the positions. */
  newest(turns: readonly TurnState[], turnId: string): TurnState | undefined {
    if (this.#hasLooked) this.#positions ??= new Map(turns.map((turn, position) => [turn.turnId, position]))
    this.#hasLooked = true
    if (this.#positions) return turns[this.#positions.get(turnId) ?? -1]
    return turns.findLast((turn) => turn.turnId === turnId)
  }

  add(turnId: string, position: number): void {
    this.#positions?.set(turnId, position)
  }

  /** An earlier turn with the id of one of these is not found any more. */
  remove(turns: readonly TurnState[]): void {
    for (const { turnId } of turns) this.#positions?.delete(turnId)
    this.#isExact = false
  }

  /** For the fold that goes on from these turns. */
  keepFor(turns: readonly TurnState[]): void {
    if (this.#positions && this.#isExact && turns.length >= leastKept) kept.set(turns, this.#positions)
  }
}

const kept = new WeakMap<readonly TurnState[], Map<string, number>>()
const leastKept = 500
