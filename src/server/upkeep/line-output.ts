/** Lines on their way to a client that reads them at its own pace. */
export class LineOutput {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  /** Aborted when the client is gone. */
  readonly gone: AbortSignal
  /** Resolves with the first line. */
  readonly begun: Promise<void>
  readonly #leaving = new AbortController()
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>
  #begin!: () => void
  #hasBegun = false
  #isWanted = false
  #onWanted: (() => void) | null = null

  constructor() {
    this.gone = this.#leaving.signal
    this.begun = new Promise((resolve) => {
      this.#begin = resolve
    })
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#isWanted = true
          this.#onWanted?.()
        },
        cancel: () => this.leave(),
      },
      { highWaterMark: 0 },
    )
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Resolves when the client has taken it and wants more. Rejects when it is gone. */
  async write(text: string): Promise<void> {
    this.#put(text)
    while (!this.#isWanted) {
      this.gone.throwIfAborted()
      await new Promise<void>((resolve) => {
        this.#onWanted = resolve
      })
    }
  }

  /** For what may be left out: written only where the client waits for something. */
  offer(text: string): void {
    if ((this.#isWanted || !this.#hasBegun) && !this.gone.aborted) this.#put(text)
  }

  /** What was written before is still read. */
  end(lastText: string): void {
    if (this.gone.aborted) return
    if (lastText !== '') this.#put(lastText)
    this.#controller.close()
    this.#begun()
  }

  /** The client is gone. */
  leave(): void {
    const reason = new Error('the client is gone')
    this.#leaving.abort(reason)
    this.#controller.error(reason)
    this.#onWanted?.()
  }

  #put(text: string): void {
    this.gone.throwIfAborted()
    this.#isWanted = false
    this.#controller.enqueue(this.#encoder.encode(text))
    this.#begun()
  }

  #begun(): void {
    this.#hasBegun = true
    this.#begin()
  }
}
