import type { FsmState } from '../log/fsm-state.ts'
import type { Change } from '../store/change.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import type { Moment } from './held-lease.ts'

/** What a commit says when it wants the lease, and is told when it has it. */
export type LeaseWish = {
  /** To be spread into the change, just before it is committed. */
  acquire(): Pick<Change, 'acquire'>
  got(result: { readonly epoch?: number }, known?: KnownLog | null): void
}

/** The log as a commit left it, and the cached state that the commit wrote. */
export type KnownLog = { readonly workingSet: WorkingSet; readonly cached: FsmState }

/** A lease that came with a commit, asked for at that moment, with what is known where nothing has to be read. */
export type GivenLease = { readonly epoch: number; readonly askedAt: Moment; readonly known: KnownLog | null }

export const noLeaseWish: LeaseWish = { acquire: () => ({}), got: () => {} }
