import { PerdureError } from '../../base/errors/perdure-error.ts'
import { openTurn } from '../../log/state.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { askDecision } from './ask-decision.ts'
import type { ChatPort } from './chat-port.ts'
import { type Line, line, styled } from './line.ts'
import type { Key } from './line-editor.ts'
import { lineAsker, Prompter } from './prompter.ts'
import type { Screen } from './screen.ts'
import { showViews } from './show-views.ts'
import { pendingLines, readCommand, resolutionLine, statusLines } from './status-lines.ts'
import { Transcript } from './transcript.ts'

export type ChatOptions = {
  readonly agent: string
  readonly who: string | null
  /** Printed by /help, above the commands. */
  readonly help?: readonly Line[]
}

type Question = { readonly item: PendingItem; readonly withdraw: AbortController }

/**
 * A conversation at a terminal. What is shown follows from the log alone, so it does not matter who wrote what is in it; a question that somebody
 * else answers is withdrawn. Messages typed while a turn runs are queued.
 */
export class ChatSession {
  readonly #port: ChatPort
  readonly #screen: Screen
  readonly #options: ChatOptions
  readonly #transcript: Transcript
  readonly #prompter = new Prompter(() => this.#changed())
  readonly #ended = new AbortController()
  readonly #typed: string[] = []
  /** Rounds somebody wants to answer later, and those that were shown. */
  readonly #later = new Set<string>()
  readonly #shown = new Set<string>()
  #view: View | null = null
  #question: Question | null = null
  /** The turn that a cancel was asked for. */
  #cancelled: string | null = null
  #isLeaving = false
  #isLost = false
  #tick = 0

  constructor(port: ChatPort, screen: Screen, options: ChatOptions) {
    this.#port = port
    this.#screen = screen
    this.#options = options
    this.#transcript = new Transcript(screen, options)
  }

  /** Until the person leaves, or the conversation cannot be watched any more. */
  async run(): Promise<void> {
    const wheel = setInterval(() => this.#turnWheel(), 120)
    const begun = Promise.withResolvers<void>()
    const watching = this.#watch(begun.resolve).finally(() => this.#ended.abort())
    try {
      await Promise.race([begun.promise, watching])
      while (!this.#ended.signal.aborted) {
        const item = this.#nextItem()
        if (item) await this.#answer(item)
        else await this.#readMessage()
      }
      await watching
    } finally {
      clearInterval(wheel)
      this.#screen.end()
    }
  }

  end(): void {
    this.#ended.abort()
  }

  press(key: Key): void {
    if (key.ctrl && key.name === 'c') return this.#interrupt()
    if (key.ctrl && key.name === 'd' && this.#prompter.text === '') return this.end()
    this.#isLeaving = false
    this.#prompter.press(key)
  }

  /** Whether a turn is at work, here or elsewhere. */
  get isRunning(): boolean {
    return this.#view !== null && this.#view.state !== 'idle' && this.#view.state !== 'awaiting_input'
  }

  /** The terminal has another size. */
  resized(): void {
    this.#changed()
  }

  async #watch(onView: () => void): Promise<void> {
    const events = this.#port.watch(this.#ended.signal, () => this.#lost())
    await showViews(events, (view) => {
      if (this.#isLost) this.#say('connected again')
      this.#isLost = false
      this.#show(view)
      onView()
    })
  }

  #lost(): void {
    if (!this.#isLost) this.#say('the connection was lost; trying again')
    this.#isLost = true
  }

  #show(view: View): void {
    this.#view = view
    this.#transcript.update(view)
    for (const item of view.pending) {
      if (this.#shown.has(roundOf(item))) continue
      this.#shown.add(roundOf(item))
      this.#screen.print(...pendingLines(item, view))
    }
    for (const key of this.#later) {
      if (!view.pending.some((item) => roundOf(item) === key)) this.#later.delete(key)
    }
    const { item } = this.#question ?? {}
    if (item && !view.pending.some((pending) => roundOf(pending) === roundOf(item))) this.#question?.withdraw.abort()
    this.#changed()
  }

  /** Ctrl-C ends the turn, or what is typed; twice with nothing to end, the program. A turn that nobody ends keeps nobody here. */
  #interrupt(): void {
    const open = this.#view ? openTurn(this.#view.log) : null
    if (open && open.turnId !== this.#cancelled) {
      this.#cancelled = open.turnId
      this.#say('cancelling the turn')
      this.#try(() => this.#port.cancel())
    } else if (this.#prompter.text !== '') this.#prompter.clear()
    else if (this.#isLeaving) this.end()
    else {
      this.#isLeaving = true
      this.#say('press Ctrl-C again, or Ctrl-D, to leave')
    }
  }

  async #readMessage(): Promise<void> {
    const text = await this.#prompter.ask({
      label: line(styled('cyan', '› ')),
      history: this.#typed,
      takesTypeAhead: true,
      signal: this.#ended.signal,
    })
    const typed = text?.trim() ?? ''
    if (typed === '') return
    if (typed !== this.#typed.at(-1)) this.#typed.push(typed)
    const command = readCommand(typed)
    switch (command.name) {
      case 'send':
        return this.#send(command.text, 'queue')
      case 'steer':
        return this.#send(command.text, 'steer')
      case 'pending':
        if (this.#view?.pending.length === 0) this.#say('nothing waits for an answer')
        this.#later.clear()
        this.#shown.clear()
        return this.#view ? this.#show(this.#view) : undefined
      case 'cancel':
        return this.#try(() => this.#port.cancel())
      case 'help':
        return this.#screen.print(...(this.#options.help ?? []), ...command.lines)
      case 'quit':
        return this.end()
      case 'unknown':
        return this.#say(`${command.text}; type /help`)
    }
  }

  #send(text: string, whenBusy: 'queue' | 'steer'): void {
    this.#port.send(text, whenBusy).catch((error: unknown) => {
      this.#fail(error)
      if (!this.#ended.signal.aborted) this.#say('the arrow up brings the message back')
    })
  }

  async #answer(item: PendingItem): Promise<void> {
    const withdraw = new AbortController()
    const signal = AbortSignal.any([withdraw.signal, this.#ended.signal])
    this.#question = { item, withdraw }
    try {
      const decision = await askDecision(item, lineAsker(this.#prompter, this.#screen, signal))
      if (withdraw.signal.aborted) return await this.#tellWhoAnswered(item)
      if (!decision) return void this.#later.add(roundOf(item))
      const answered = await this.#port.decide(item, decision)
      if (!answered.accepted) this.#say(`${answered.resolution.who} was faster`)
      await this.#untilGone(item)
      await this.#tellWhoAnswered(item)
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#question = null
    }
  }

  /** The log says who answered a call of this conversation. What happens in a child agent is in the child's. */
  async #tellWhoAnswered(item: PendingItem): Promise<void> {
    if (item.path.length < 2) return
    const resolution = await this.#port.resolutionOf(item)
    const told = resolution && resolutionLine(item.kind, { ...resolution, seq: 0 })
    if (told) this.#screen.print(told)
  }

  /** So that the same question is not asked again before the view has heard of its answer. */
  async #untilGone(item: PendingItem): Promise<void> {
    const { withdraw } = this.#question!
    const isGone = () => !this.#view?.pending.some((pending) => roundOf(pending) === roundOf(item))
    const ended = this.#ended.signal
    if (isGone() || ended.aborted) return
    await new Promise<void>((resolve) => {
      withdraw.signal.addEventListener('abort', () => resolve(), { once: true })
      ended.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  #nextItem(): PendingItem | null {
    return this.#view?.pending.find((item) => item.kind !== 'sub_agent' && !this.#later.has(roundOf(item))) ?? null
  }

  #changed(): void {
    // A question waits until the line is empty, so that what was meant as a message is not read as an answer.
    if (!this.#question && this.#prompter.isAsking && this.#prompter.text === '' && this.#nextItem()) {
      this.#prompter.leave()
      return
    }
    this.#drawFoot()
  }

  #turnWheel(): void {
    this.#tick += 1
    if (this.isRunning) this.#drawFoot()
  }

  #drawFoot(): void {
    const status = this.#view ? statusLines(this.#view, this.#tick) : []
    if (this.#later.size > 0) status.push(line(styled('yellow', `  ${this.#later.size} left for later: /pending`)))
    if (!this.#question && this.#nextItem()) {
      status.push(line(styled('yellow', '  a question waits until this line is sent or cleared')))
    }
    const { rows, cursor } = this.#prompter.rows(this.#screen.width)
    this.#screen.setFoot({
      lines: [...status, ...rows],
      cursor: { row: status.length + cursor.row, column: cursor.column },
    })
  }

  #try(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => this.#fail(error))
  }

  #fail(error: unknown): void {
    if (this.#ended.signal.aborted) return
    const text = PerdureError.isInstance(error) || error instanceof Error ? error.message : String(error)
    this.#screen.print(line(styled('red', `  ${text}`)))
  }

  #say(text: string): void {
    this.#screen.print(line(styled('dim', `  (${text})`)))
  }
}

function roundOf({ callId, round }: PendingItem): string {
  return `${callId}/${round}`
}
