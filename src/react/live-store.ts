import { PerdureError } from '../base/errors/perdure-error.ts'
import type { Tab } from './tab.ts'

/** How long a store stays open after its last reader left. React's StrictMode unmounts and mounts at once, and people change pages. */
const lingerMs = 1_000

/** A value that components read. It is kept up to date while it has readers and the tab is visible. */
export class LiveStore<Value> {
  readonly #tab: Tab
  readonly #run: () => () => void
  readonly #listeners = new Set<() => void>()
  #value: Value
  #stop: (() => void) | null = null
  #leaveTab: (() => void) | null = null
  #linger: ReturnType<typeof setTimeout> | undefined

  /** `run` keeps the value up to date until the function that it returns is called. */
  constructor(tab: Tab, initial: Value, run: () => () => void) {
    this.#tab = tab
    this.#value = initial
    this.#run = run
  }

  get value(): Value {
    return this.#value
  }

  get isUsed(): boolean {
    return this.#leaveTab !== null
  }

  get isRunning(): boolean {
    return this.#stop !== null
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of [...this.#listeners]) listener()
  }

  /** For `useSyncExternalStore`, like `get`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    clearTimeout(this.#linger)
    this.#listeners.add(listener)
    this.#leaveTab ??= this.#tab.subscribe(() => this.#adjust())
    this.#adjust()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#linger = setTimeout(() => this.#leave(), lingerMs)
    }
  }

  readonly get = (): Value => this.#value

  /** Begins anew, when it is running. */
  restart(): void {
    if (!this.#stop) return
    this.#stop()
    this.#stop = this.#run()
  }

  #leave(): void {
    this.#leaveTab?.()
    this.#leaveTab = null
    this.#adjust()
  }

  #adjust(): void {
    const shouldRun = this.#leaveTab !== null && this.#tab.isVisible
    if (shouldRun && !this.#stop) this.#stop = this.#run()
    else if (!shouldRun && this.#stop) {
      this.#stop()
      this.#stop = null
    }
  }
}

/**
 * How far what is shown can be relied on. `reconnecting`: it was right when the connection was lost. `gone`: it does not exist, or the caller may not see it.
 * `refused`: the server wants other credentials. `failed`: an error that does not go away by itself.
 */
export type LiveStatus = 'loading' | 'live' | 'reconnecting' | 'gone' | 'refused' | 'failed'

const goneCodes: ReadonlySet<string> = new Set(['conversation_not_found', 'no_session', 'no_such_flow'])
const refusedCodes: ReadonlySet<string> = new Set([
  'unauthenticated',
  'operator_only',
  'host_not_allowed',
  'origin_not_allowed',
])

/** What an error means for what is shown. */
export function statusOf(error: unknown, isShown: boolean): LiveStatus {
  if (!PerdureError.isInstance(error)) return 'failed'
  if (goneCodes.has(error.code)) return 'gone'
  if (refusedCodes.has(error.code)) return 'refused'
  if (error.retryable) return isShown ? 'reconnecting' : 'loading'
  return 'failed'
}
