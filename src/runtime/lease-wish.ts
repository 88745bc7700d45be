import type { Change } from '../store/change.ts'

/** What a commit says when it wants the lease, and is told when it has it. */
export type LeaseWish = {
  /** To be spread into the change, just before it is committed. */
  acquire(): Pick<Change, 'acquire'>
  got(result: { readonly epoch?: number }): void
}

export const noLeaseWish: LeaseWish = { acquire: () => ({}), got: () => {} }
