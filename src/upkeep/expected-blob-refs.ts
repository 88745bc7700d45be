import type { Json } from '../base/json.ts'
import { blobRefsIn } from '../log/blob-refs-in.ts'
import type { LogEvent } from '../log/events.ts'
import type { StoredEvent } from '../store/driver.ts'
import type { FindingCode } from './finding.ts'

/** What is wrong with a row, and the seq it must have; null where there must be none. */
type Misfit = { readonly code: FindingCode; readonly problem: string; readonly firstSeq: number | null }

/** Which blobs a conversation refers to, by its events, and so what the rows that say so must be. Events come first. */
export class ExpectedBlobRefs {
  /** `from`: the first seq of the commit that may have brought the reference. */
  readonly #used = new Map<string, { readonly seq: number; readonly from: number }>()
  readonly #rows = new Set<string>()
  #at = 0
  #runFrom = 1

  /** `event` is null where the row cannot be read. */
  event({ seq, at, content }: StoredEvent, event: LogEvent | null): void {
    if (at !== this.#at) this.#runFrom = seq
    this.#at = at
    if (!event || !content.includes('"blob"')) return
    for (const hash of blobRefsIn(event.content as Json)) {
      if (!this.#used.has(hash)) this.#used.set(hash, { seq, from: this.#runFrom })
    }
  }

  /** `forkedAt` is 0 for what is no fork. */
  row(hash: string, firstSeq: number, forkedAt: number): Misfit | null {
    this.#rows.add(hash)
    const used = this.#used.get(hash)
    if (!used) {
      // A fork copies those of the commit it cuts through, too.
      if (firstSeq <= forkedAt) return null
      const problem = `a row says that seq ${firstSeq} refers to blob ${hash}, and no event does`
      return { code: 'blob_ref_unneeded', problem, firstSeq: null }
    }
    if (firstSeq <= used.seq && firstSeq >= used.from) return null
    const problem = `blob ${hash} is first referred to by event ${used.seq}, its row says ${firstSeq}`
    return { code: 'blob_ref_differs', problem, firstSeq: used.seq }
  }

  /** What is referred to without a row that says so. */
  *withoutRow(): Generator<{ readonly hash: string; readonly firstSeq: number }> {
    for (const [hash, { seq }] of this.#used) if (!this.#rows.has(hash)) yield { hash, firstSeq: seq }
  }
}
