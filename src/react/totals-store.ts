import type { Totals, TotalsFilter } from '../runtime/read/totals.ts'
import { keepIdentity } from './keep-identity.ts'
import type { Link } from './link.ts'
import { type LiveStatus, LiveStore } from './live-store.ts'
import { Rereading } from './rereading.ts'

/** How much there is, as far as the caller may see it. */
export type TotalsSnapshot = {
  /** Null until they have been read, and if `authorize` judges rows one by one, because then there are none; `status` is then `live`. */
  readonly totals: Totals | null
  readonly status: LiveStatus
  readonly error: unknown
}

export const noTotals: TotalsSnapshot = { totals: null, status: 'loading', error: null }

/** Counting costs more than a page of a list, so changes within a second are counted together. */
const gatherMs = 1_000

/** The counts of the tenant, read again when something has changed. */
export class TotalsStore {
  readonly live: LiveStore<TotalsSnapshot>
  readonly #link: Link
  readonly #filter: TotalsFilter
  readonly #rereading: Rereading<TotalsSnapshot>
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(link: Link, filter: TotalsFilter) {
    this.#link = link
    this.#filter = filter
    this.live = new LiveStore(link.tab, noTotals, () => this.#follow())
    this.#rereading = new Rereading(this.live, () => void this.#read())
  }

  #follow(): () => void {
    const stop = this.#rereading.follow(this.#link, ({ type }) => {
      if (type === 'reset') void this.#read()
      else this.#timer ??= setTimeout(() => void this.#read(), gatherMs)
    })
    return () => {
      this.#forgetTimer()
      stop()
    }
  }

  async #read(): Promise<void> {
    this.#forgetTimer()
    try {
      const totals = keepIdentity(this.live.value.totals, await this.#link.client.totals(this.#filter))
      this.#rereading.succeeded()
      this.live.set({ totals, status: 'live', error: null })
    } catch (error) {
      this.#rereading.failed(error)
    }
  }

  #forgetTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
