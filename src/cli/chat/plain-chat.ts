import { findTurn, openTurn } from '../../log/state.ts'
import type { View } from '../../view/view.ts'
import { Interrupted } from '../command.ts'
import type { ChatPort } from './chat-port.ts'
import { showViews } from './show-views.ts'
import { pendingLines } from './status-lines.ts'
import type { Paper, Transcript } from './transcript.ts'

/** A conversation without a keyboard: what is said is given, what comes of it is written down. */
export class PlainChat {
  readonly #port: ChatPort
  readonly #paper: Paper
  readonly #transcript: Transcript
  readonly #ended = new AbortController()
  readonly #shown = new Set<string>()
  readonly #watching: Promise<void>
  /** Nothing else need be under way in this process, and the process must not end before what it waits for. */
  readonly #alive = setInterval(() => {}, 60_000)
  #view: View | null = null
  #waiters: (() => void)[] = []

  constructor(port: ChatPort, paper: Paper, transcript: Transcript) {
    this.#port = port
    this.#paper = paper
    this.#transcript = transcript
    this.#watching = this.#watch()
    // Whoever waits is told; nobody may be waiting.
    this.#watching.catch(() => {}).finally(() => this.#tellWaiters())
  }

  /** The turn it belongs to. */
  async send(text: string): Promise<string> {
    // Or it may have ended before anything is shown, and would be taken for one of those before.
    await this.until(() => true)
    return this.#port.send(text, 'queue')
  }

  /** Sends it, and shows what happens until the turn has ended or waits for somebody. */
  async say(text: string): Promise<{ readonly turnId: string; readonly view: View }> {
    const turnId = await this.send(text)
    return { turnId, view: await this.untilRest(turnId) }
  }

  /** Until the turn has ended or waits for somebody. */
  untilRest(turnId: string): Promise<View> {
    return this.until((view) => {
      const turn = findTurn(view.log, turnId)
      if (turn?.end) return true
      return view.state === 'awaiting_input' && openTurn(view.log)?.turnId === turnId
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
    await showViews(
      this.#port.watch(this.#ended.signal, () => {}),
      (view) => this.#show(view),
    )
    this.#ended.abort()
  }

  #show(view: View): void {
    this.#view = view
    this.#transcript.update(view)
    for (const item of view.pending) {
      const key = `${item.callId}/${item.round}`
      if (this.#shown.has(key)) continue
      this.#shown.add(key)
      this.#paper.print(...pendingLines(item, view))
    }
    this.#tellWaiters()
  }

  #tellWaiters(): void {
    for (const tell of this.#waiters.splice(0)) tell()
  }
}
