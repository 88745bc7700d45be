import type { PerdureError } from '../base/errors/perdure-error.ts'

/** This process's hold on a conversation or session. */
export type Hold = {
  readonly lastSeq: number
  /** Nothing is written under it any more. */
  readonly isLost: boolean
  /** Why it does not get on, while the store fails it. */
  readonly problem: PerdureError | null
  hint(seq: number): void
  /** Somebody else has it: nothing more may be written. */
  lose(): void
  /** Lets go in good order. */
  close(): Promise<void>
}
