import type { ConversationRef } from './conversation-record.ts'
import type { WakeHint } from './store.ts'

/** A lease by its conversation and epoch. */
export type LeaseRef = ConversationRef & { readonly epoch: number }

/** A lease as its holder knows it: `seq` is how far it knows the log. */
export type KnownLease = LeaseRef & { readonly seq: number }

/** What a renewal found to be other than the holder knew. Empty lists when nothing is. */
export type LeaseNews = {
  /** No longer the holder's: another has taken the conversation, or it was deleted. */
  readonly lost: readonly LeaseRef[]
  /** Renewed, and the log is longer than the holder knows. */
  readonly grown: readonly WakeHint[]
  /** Under the holder's name, and it does not know of them. They were not renewed. */
  readonly strays: readonly LeaseRef[]
}

/** For drivers that have read all rows under a holder's name. Those it knows must have been renewed. */
export function leaseNews(known: readonly KnownLease[], rows: readonly KnownLease[]): LeaseNews {
  const found = new Map(rows.map((row) => [row.epoch, row]))
  const knownEpochs = new Set(known.map(({ epoch }) => epoch))
  return {
    lost: known.filter(({ epoch }) => !found.has(epoch)).map(leaseRef),
    grown: known.flatMap(({ tenant, id, epoch, seq }) => {
      const lastSeq = found.get(epoch)?.seq ?? 0
      return lastSeq > seq ? [{ tenant, id, seq: lastSeq }] : []
    }),
    strays: rows.filter(({ epoch }) => !knownEpochs.has(epoch)).map(leaseRef),
  }
}

function leaseRef({ tenant, id, epoch }: LeaseRef): LeaseRef {
  return { tenant, id, epoch }
}
