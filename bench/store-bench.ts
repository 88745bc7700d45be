import type { AppendResult } from './append-rates.ts'
import type { ReadResult } from './read-rates.ts'
import type { RevivalResult } from './revival.ts'

export type StoreBenchOptions = {
  /** How often each thing is measured; the medians are told. */
  readonly rounds: number
  /** How long each measurement of a rate lasts. */
  readonly durationMs: number
}

/** What was measured of one store, beside its raw driver in the same run. */
export type StoreBench = {
  readonly name: 'sqlite' | 'postgres'
  readonly appends: readonly AppendResult[]
  readonly read: ReadResult
  readonly revivals: readonly RevivalResult[]
  readonly bytesPerEvent: number
  readonly rawBytesPerEvent: number
}
