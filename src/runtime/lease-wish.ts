import type { WorkingSet } from '../live/working-sets.ts'
import type { Change } from '../store/change.ts'

/** What a commit says when it wants the lease, and is told when it has it. */
export type LeaseWish = {
  /** To be spread into the change, just before it is committed. */
  acquire(): Pick<Change, 'acquire'>
  /** `workingSet`: the log as the commit left it, where that is known. */
  got(result: { readonly epoch?: number }, workingSet?: WorkingSet | null): void
}

/** A lease that came with a commit. */
export type GivenLease = { readonly epoch: number; readonly workingSet: WorkingSet | null }

export const noLeaseWish: LeaseWish = { acquire: () => ({}), got: () => {} }
