/** What is compared: turns with one tool call, on a store, in a number of conversations at once. */
export type TurnMeasure = {
  readonly name: string
  readonly store: 'memory' | 'sqlite' | 'postgres'
  readonly lanes: number
  /**
   * Turns of each lane in one slice: enough for the clock, few enough that the machine is the same for both halves of a
   * pair.
   */
  readonly turnsPerLane: number
}

/** The time of a slice: of one turn, or of all turns with several lanes; and the processor time of its process. */
export type Slice = { readonly ms: number; readonly cpuMs: number }

export const turnMeasures: readonly TurnMeasure[] = [
  { name: 'memory.turn', store: 'memory', lanes: 1, turnsPerLane: 30 },
  { name: 'sqlite.turn', store: 'sqlite', lanes: 1, turnsPerLane: 20 },
  { name: 'sqlite.64_conversations', store: 'sqlite', lanes: 64, turnsPerLane: 1 },
  { name: 'postgres.turn', store: 'postgres', lanes: 1, turnsPerLane: 10 },
  { name: 'postgres.64_conversations', store: 'postgres', lanes: 64, turnsPerLane: 1 },
]
