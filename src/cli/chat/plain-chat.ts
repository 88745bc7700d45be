import { findTurn, openTurn } from '../../log/state.ts'
import type { View } from '../../view/view.ts'
import { Interrupted } from '../command.ts'
import type { Paper, Transcript } from '../transcript/transcript.ts'
import type { ChatPort } from './chat-port.ts'

/** A conversation without a keyboard: the caller sends messages, and the transcript is printed. */
export class PlainChat {
  readonly #port: ChatPort
  readonly #paper: Paper
  readonly #transcript: Transcript
  readonly #ended = new AbortController()
  readonly #watching: Promise<void>
  /** Keeps the process alive while it waits for another process. */
  readonly #alive = setInterval(() => {}, 60_000)
  #view: View | null = null
  #waiters: (() => void)[] = []

  constructor(port: ChatPort, paper: Paper, transcript: Transcript) {
    this.#port = port
    this.#paper = paper
    this.#transcript = transcript
    this.#watching = this.#watch()
    // `until` rejects with the error; there may be no caller of it now.
    this.#watching.catch(() => {}).finally(() => this.#tellWaiters())
  }

  /** Returns the id of the message's turn. */
  async send(text: string): Promise<string> {
    // Without a first view, a turn that ends quickly would look like an old one.
    await this.until(() => true)
    return this.#port.send(text, 'queue')
  }

  /** Sends a message, and prints until its turn has ended or waits for an answer. */
  async say(text: string): Promise<{ readonly turnId: string; readonly view: View }> {
    const turnId = await this.send(text)
    return { turnId, view: await this.untilRest(turnId) }
  }

  /** Resolves when the turn has ended or waits for an answer. */
  untilRest(turnId: string): Promise<View> {
    return this.until((view) => {
      const turn = findTurn(view.log, turnId)
      if (turn?.end) return true
      return view.phase === 'waiting' && openTurn(view.log)?.turnId === turnId
    })
  }

  async until(isReached: (view: View) => boolean): Promise<View> {
    for (;;) {
      if (this.#view && isReached(this.#view)) return this.#view
      if (this.#ended.signal.aborted) throw new Interrupted()
      await Promise.race([this.#watching, new Promise<void>((resolve) => this.#waiters.push(resolve))])
    }
  }

  async end(): Promise<void> {
    clearInterval(this.#alive)
    this.#ended.abort()
    await this.#watching.catch(() => {})
    this.#paper.closeLine()
  }

  async #watch(): Promise<void> {
    for await (const view of this.#port.views(this.#ended.signal, () => {})) {
      this.#view = view
      this.#transcript.update(view)
      this.#tellWaiters()
    }
    this.#ended.abort()
  }

  #tellWaiters(): void {
    for (const tell of this.#waiters.splice(0)) tell()
  }
}
