import type { AppendResult } from './append-rates.ts'
import type { ReadResult } from './read-rates.ts'
import type { RevivalResult } from './revival.ts'

export type StoreBenchOptions = {
  /** How often each figure is measured. The medians are reported. */
  readonly rounds: number
  /** How long each rate is measured. */
  readonly durationMs: number
}

/** The figures of one store, next to those of its raw driver from the same run. */
export type StoreBench = {
  readonly name: 'sqlite' | 'postgres'
  readonly appends: readonly AppendResult[]
  readonly read: ReadResult
  readonly revivals: readonly RevivalResult[]
  readonly bytesPerEvent: number
  readonly rawBytesPerEvent: number
}
