import { spawnSync } from 'node:child_process'
import type { ReadStream, WriteStream } from 'node:tty'
import { onAbort } from '../../base/abort.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Json } from '../../base/json.ts'
import { callPhase } from '../../log/call-phase.ts'
import { childCalls } from '../../log/child-call.ts'
import { findCall, openTurn } from '../../log/state.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { type Colours, type Printable, type SafeText, safe } from '../terminal/text.ts'
import { Transcript, type TranscriptOptions } from '../transcript/transcript.ts'
import { excerpt, resolutionLine, userText } from '../transcript/view-lines.ts'
import { askDecision } from './ask-decision.ts'
import type { ChatPort } from './chat-port.ts'
import { type Key, lineAsker, Prompter, readKeys } from './prompter.ts'
import type { Screen } from './screen.ts'

export type ChatOptions = Pick<TranscriptOptions, 'agent' | 'isOwn'> & {
  /** Printed by /help, above the commands. */
  readonly help?: readonly Printable[]
}

/** `withdraw`: another process answered it. `leave`: the person wants to answer later. */
type Question = {
  readonly item: PendingItem
  readonly withdraw: AbortController
  readonly leave: AbortController
}

/**
 * A conversation at a terminal. It shows the log, whichever process wrote it; a question that another process answers is withdrawn. Messages typed
 * while a turn runs are queued.
 */
export class ChatSession {
  readonly #port: ChatPort
  readonly #screen: Screen
  readonly #options: ChatOptions
  readonly #transcript: Transcript
  readonly #prompter = new Prompter(() => this.#changed())
  readonly #ended = new AbortController()
  readonly #typed: string[] = []
  /** Questions that the person wants to answer later. */
  readonly #later = new Set<string>()
  #view: View | null = null
  #question: Question | null = null
  /** The last turn that Ctrl-C cancelled. */
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

  /** Resolves when the person leaves. Rejects when the conversation can no longer be watched, or a view cannot be shown. */
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

  /** Whether a turn runs, in this process or another. */
  get isRunning(): boolean {
    return this.#view !== null && this.#view.phase !== 'idle' && this.#view.phase !== 'waiting'
  }

  /** The terminal has another size. */
  resized(): void {
    this.#changed()
  }

  async #watch(onView: () => void): Promise<void> {
    for await (const view of this.#port.views(this.#ended.signal, () => this.#lost())) {
      if (this.#isLost) this.#say('connected again')
      this.#isLost = false
      this.#show(view)
      onView()
    }
  }

  #lost(): void {
    if (!this.#isLost) this.#say('the connection was lost; trying again')
    this.#isLost = true
  }

  #show(view: View): void {
    this.#view = view
    this.#transcript.update(view)
    for (const key of this.#later) {
      if (!view.pending.some((item) => roundOf(item) === key)) this.#later.delete(key)
    }
    const { item } = this.#question ?? {}
    if (item && !view.pending.some((pending) => roundOf(pending) === roundOf(item))) this.#question?.withdraw.abort()
    this.#changed()
  }

  /**
   * Ctrl-C leaves an open question for later. Without one it cancels the turn that runs, once, then clears the line; with nothing to do, the second one
   * leaves. A turn that only waits for an answer keeps waiting.
   */
  #interrupt(): void {
    if (this.#question) return this.#question.leave.abort()
    const open = this.#view && this.isRunning ? openTurn(this.#view.log) : null
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
      label: this.#screen.colours.cyan('› '),
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
        if (!this.#view) return
        this.#transcript.repeatPending(this.#view)
        return this.#show(this.#view)
      case 'cancel':
        return this.#try(() => this.#port.cancel())
      case 'help':
        return this.#screen.print(...(this.#options.help ?? []), ...helpLines(this.#screen.colours))
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
    const [withdraw, leave] = [new AbortController(), new AbortController()]
    const signal = AbortSignal.any([withdraw.signal, leave.signal, this.#ended.signal])
    this.#question = { item, withdraw, leave }
    try {
      const decision = await askDecision(item, lineAsker(this.#prompter, this.#screen, signal))
      if (withdraw.signal.aborted) return await this.#tellWhoAnswered(item)
      if (leave.signal.aborted) this.#say('it keeps waiting; /pending asks again, /cancel ends the turn')
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

  /** The transcript says who answered a call of this conversation. A call of a child agent is in the child's log. */
  async #tellWhoAnswered(item: PendingItem): Promise<void> {
    if (item.path.length < 2) return
    const resolution = await this.#port.resolutionOf(item)
    const style = { colours: this.#screen.colours, isFull: false }
    const line = resolution && resolutionLine(item.kind, resolution, style)
    if (line) this.#screen.print(line)
  }

  /** Waits until the view has the answer, so that the same question is not asked again. */
  async #untilGone(item: PendingItem): Promise<void> {
    const { withdraw } = this.#question!
    const isGone = () => !this.#view?.pending.some((pending) => roundOf(pending) === roundOf(item))
    const ended = this.#ended.signal
    if (isGone() || ended.aborted) return
    await new Promise<void>((resolve) => {
      onAbort(withdraw.signal, resolve)
      onAbort(ended, resolve)
    })
  }

  #nextItem(): PendingItem | null {
    return this.#view?.pending.find((item) => item.kind !== 'sub_agent' && !this.#later.has(roundOf(item))) ?? null
  }

  #changed(): void {
    // A question waits until the line is empty: half a message must not be read as its answer.
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
    const { colours, width } = this.#screen
    const status = this.#view ? statusLines(this.#view, this.#tick, colours) : []
    if (this.#later.size > 0) status.push(colours.yellow(`  ${this.#later.size} left for later: /pending`))
    if (!this.#question && this.#nextItem())
      status.push(colours.yellow('  a question waits until this line is sent or cleared'))
    const { rows, cursor } = this.#prompter.rows(width)
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
    this.#screen.print(this.#screen.colours.red(`  ${text}`))
  }

  #say(text: string): void {
    this.#screen.print(this.#screen.colours.dim(`  (${text})`))
  }
}

function roundOf({ callId, round }: PendingItem): string {
  return `${callId}/${round}`
}

type Terminal = { readonly input: ReadStream; readonly output: WriteStream }

/** Gives a chat the keyboard until it ends. */
export async function atTerminal(
  session: ChatSession,
  { input, output }: Terminal,
  signal: AbortSignal,
): Promise<void> {
  mendTerminal()
  const release = readKeys(input, output, (key) => session.press(key))
  const resized = (): void => session.resized()
  const end = (): void => session.end()
  output.on('resize', resized)
  input.on('end', end)
  const ignoreSignal = onAbort(signal, end)
  try {
    await session.run()
  } finally {
    output.off('resize', resized)
    input.off('end', end)
    ignoreSignal()
    release()
  }
}

/** A killed process leaves the terminal in raw mode. Node would take that for its normal state and restore it at the end. */
function mendTerminal(): void {
  if (process.platform !== 'win32') spawnSync('stty', ['sane'], { stdio: ['inherit', 'ignore', 'ignore'] })
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** What happens now: running calls with their progress, and queued messages. `tick` turns the wheel. */
function statusLines(view: View, tick: number, { cyan, dim, yellow }: Colours): SafeText[] {
  const wheel = frames[tick % frames.length]!
  const running = (name: string, what: string) => safe`${cyan(`  ${wheel} ${name}`)}${dim(what)}`
  const lines: SafeText[] = []
  for (const call of openTurn(view.log)?.calls ?? []) {
    if (callPhase(call).type === 'started')
      lines.push(running(`${call.name} `, progressText(view.progress[call.callId])))
  }
  const waiting = new Set(view.children.waiting)
  for (const { callId } of childCalls(view.log)) {
    if (waiting.has(callId)) continue
    const name = findCall(view.log, callId)?.call.name ?? 'a child agent'
    lines.push(running(`${name} `, 'a child agent is at work'))
  }
  if (lines.length === 0 && view.phase === 'running' && view.drafts.length === 0)
    lines.push(running('', 'the turn is running'))
  if (view.phase === 'terminating') lines.push(yellow(`  ${wheel} cancelling`))
  for (const message of view.messages) {
    if (message.role === 'user' && message.isQueued) lines.push(dim(`  queued: ${userText(message.parts)}`))
  }
  return lines
}

/** A bar for progress of the form `{ done, total, text? }`, else the value itself. */
function progressText(progress: Json | undefined): string {
  if (progress === undefined) return 'is running'
  if (typeof progress === 'string') return progress
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) return excerpt(progress, false)
  const { done, total, text } = progress as { done?: Json; total?: Json; text?: Json }
  if (typeof done !== 'number' || typeof total !== 'number' || !(total > 0)) return excerpt(progress, false)
  const part = Math.min(1, Math.max(0, done / total))
  const full = Math.round(part * 20)
  return `${'█'.repeat(full)}${'░'.repeat(20 - full)} ${Math.round(part * 100)} %${typeof text === 'string' ? ` ${text}` : ''}`
}

/** What a typed line means. */
type Command =
  | { readonly name: 'send' | 'steer' | 'unknown'; readonly text: string }
  | { readonly name: 'help' | 'pending' | 'cancel' | 'quit' }

/** A line that begins with a slash is a command; two slashes send one. */
function readCommand(typed: string): Command {
  if (!typed.startsWith('/')) return { name: 'send', text: typed }
  if (typed.startsWith('//')) return { name: 'send', text: typed.slice(1) }
  const [word = '', ...rest] = typed.slice(1).split(/\s+/)
  const text = rest.join(' ')
  switch (word) {
    case 'steer':
      return text === '' ? { name: 'unknown', text: '/steer has no message' } : { name: 'steer', text }
    case 'help':
    case 'pending':
    case 'cancel':
    case 'quit':
      return { name: word }
    case 'exit':
      return { name: 'quit' }
    default:
      return { name: 'unknown', text: `there is no command /${word}` }
  }
}

const commands = [
  ['/pending', 'ask again about every call that waits for an answer'],
  ['/steer <message>', 'give a message to the running turn; other messages wait for its end'],
  ['/cancel', 'end the turn (or Ctrl-C while it runs)'],
  ['/quit', 'leave (or Ctrl-D, or Ctrl-C twice); everything stays in the log'],
] as const

function helpLines({ bold, dim }: Colours): SafeText[] {
  return commands.map(([name, what]) => safe`${bold(`  ${name.padEnd(18)}`)}${dim(what)}`)
}
