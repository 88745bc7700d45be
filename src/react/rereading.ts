import { PerdureError } from '../base/errors/perdure-error.ts'
import type { Change, Link } from './link.ts'
import { type LiveStatus, type LiveStore, statusOf } from './live-store.ts'

/** How long after a failed read the next one follows, while the page is connected. */
const againMs = 3_000

type Read = { readonly status: LiveStatus; readonly error: unknown }

/** Keeps the status of a store that is read from the server and follows its changes. What could not be read is read again, with the next connection or before. */
export class Rereading<Value extends Read> {
  readonly #live: LiveStore<Value>
  readonly #read: () => void
  #isLost = false
  /** The last read failed: what is shown may be older than the connection. */
  #isOwed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(live: LiveStore<Value>, read: () => void) {
    this.#live = live
    this.#read = read
  }

  /** Follows changes until the returned function is called. */
  follow(link: Link, onChange: (change: Change) => void): () => void {
    this.#isLost = false
    const stop = link.listen({
      onChange,
      onConnect: () => this.#connected(),
      onDisconnect: (error) => {
        this.#isLost = true
        this.#forgetTimer()
        if (this.#live.value.status !== 'gone') this.#show(error)
      },
    })
    return () => {
      this.#forgetTimer()
      stop()
    }
  }

  /** Must be called after each read. */
  succeeded(): void {
    this.#isOwed = false
    this.#forgetTimer()
  }

  /** Must be called after a read that failed. Throws what is no error of the server. */
  failed(error: unknown): void {
    const { retryable } = this.#show(error)
    this.#isOwed = true
    if (retryable && !this.#isLost) this.#timer ??= setTimeout(() => this.#again(), againMs)
  }

  /** The missed changes follow, so earlier content stays valid. */
  #connected(): void {
    this.#isLost = false
    const { status } = this.#live.value
    if (this.#isOwed) this.#again()
    else if (status !== 'loading' && status !== 'gone')
      this.#live.set({ ...this.#live.value, status: 'live', error: null })
  }

  #again(): void {
    this.#forgetTimer()
    this.#read()
  }

  #show(error: unknown): PerdureError {
    if (!PerdureError.isInstance(error)) throw error
    const { value } = this.#live
    this.#live.set({ ...value, status: statusOf(error, value.status !== 'loading'), error })
    return error
  }

  #forgetTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
