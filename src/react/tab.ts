/** What is needed of the browser's `document` and `window`; both are absent on a server. */
type Events = {
  addEventListener(type: string, listener: () => void): void
  removeEventListener(type: string, listener: () => void): void
}
type Browser = { readonly document?: Events & { readonly visibilityState: string } } & Partial<Events>

/** The tab that a page is shown in. Without a document it counts as visible. */
export class Tab {
  readonly #browser: Browser
  readonly #listeners = new Set<() => void>()
  #isVisible = true

  constructor(browser: Browser = globalThis as Browser) {
    this.#browser = browser
  }

  /** False while the tab is hidden, and once the page is being left. */
  get isVisible(): boolean {
    if (this.#listeners.size === 0) this.#isVisible = this.#isShown()
    return this.#isVisible
  }

  /** Calls `listener` when the tab is hidden or shown. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    if (this.#listeners.size === 0) this.#listen('addEventListener')
    this.#isVisible = this.#isShown()
    this.#listeners.add(listener)
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#listen('removeEventListener')
    }
  }

  #isShown(): boolean {
    return this.#browser.document?.visibilityState !== 'hidden'
  }

  #listen(verb: keyof Events): void {
    const { document } = this.#browser
    if (!document) return
    document[verb]('visibilitychange', this.#onChange)
    // A page that is kept for the back button must hold no connection.
    this.#browser[verb]?.('pagehide', this.#onLeave)
    this.#browser[verb]?.('pageshow', this.#onChange)
  }

  readonly #onChange = (): void => this.#set(this.#isShown())
  readonly #onLeave = (): void => this.#set(false)

  #set(isVisible: boolean): void {
    if (isVisible === this.#isVisible) return
    this.#isVisible = isVisible
    for (const listener of [...this.#listeners]) listener()
  }
}
