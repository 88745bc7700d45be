import type { LogEvent } from '../../log/events.ts'
import { findCall } from '../../log/state.ts'
import { GrowingView, type WatchEvent } from '../../view/growing-view.ts'
import type { LiveEvent, View, ViewAssistantMessage, ViewMessage } from '../../view/view.ts'
import type { Output } from '../output.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { type Printable, safe } from '../terminal/text.ts'
import { callLines, eventText, excerpt, messageLines } from './message-lines.ts'
import { pendingLines } from './pending-lines.ts'

export type LivePrinterOptions = {
  readonly agent: string
  readonly isFull: boolean
  /** For what to type next. */
  readonly args: TargetArgs
  /** Nothing up to here is printed; without it, the last turn is. */
  readonly after: number | undefined
}

/** Prints a conversation as it happens: each message once, text as it is written. */
export class LivePrinter {
  readonly #output: Output
  readonly #options: LivePrinterOptions
  #shown: GrowingView | null = null
  #soon: NodeJS.Immediate | null = null
  #printedSeq: number | undefined
  /** Messages whose text has been printed while it was written, with the kind of text that came last. */
  readonly #streamed = new Map<string, string>()
  readonly #shownCalls = new Set<string>()
  #isInLine = false

  constructor(output: Output, options: LivePrinterOptions) {
    this.#output = output
    this.#options = options
    this.#printedSeq = options.after
  }

  /** What was printed last: where another one could go on. */
  get seq(): number {
    return this.#printedSeq ?? 0
  }

  print(event: WatchEvent): void {
    if (event.type === 'snapshot') return this.#snapshot(event.view)
    this.#shown?.take(event)
    if ('content' in event) {
      if (event.seq <= this.seq) return
      this.#logEvent(event)
      this.#printedSeq = event.seq
    } else this.#liveEvent(event)
    // Once for all events of a moment: a commit may have thousands of them.
    this.#soon ??= setImmediate(() => this.#pending())
  }

  /** Prints what is left to print. */
  end(): void {
    if (this.#soon) this.#pending()
  }

  #snapshot(view: View): void {
    this.#shown = new GrowingView(view)
    const lastTurn = view.messages.at(-1)?.turnId
    const after = this.#printedSeq
    const messages = view.messages.filter(({ seq, turnId }) =>
      after === undefined ? turnId === lastTurn : seq > after,
    )
    for (const message of messages) this.#lines(this.#messageLines(message))
    this.#printedSeq = view.seq
    for (const { messageId, parts } of view.drafts) {
      if (this.#streamed.has(messageId)) continue
      for (const { type, text } of parts) if (type !== 'tool_input') this.#stream(messageId, type, text)
    }
    this.#pending()
  }

  #logEvent(event: LogEvent): void {
    const { dim, green, red } = this.#output.colours
    switch (event.type) {
      case 'user_msg':
      case 'assistant_msg': {
        const message = this.#shown?.view.messages.find(({ seq }) => seq === event.seq)
        if (message) this.#lines(this.#messageLines(message))
        return
      }
      case 'tool_result': {
        const { callId, ...end } = event.content
        const text = end.ok ? excerpt(end.result, this.#options.isFull) : red(end.error)
        return this.#lines([safe`  ${this.#toolName(callId)} ${end.ok ? green('done') : red('failed')} ${text}`])
      }
      case 'resolution':
        return this.#lines([dim(`  ${this.#toolName(event.content.callId)} ${eventText(event)}`)])
      case 'tool_started':
        return this.#lines([dim(`  ${this.#toolName(event.content.callId)} started ${eventText(event)}`)])
      case 'turn_ended':
      case 'cancel_requested':
      case 'titled':
      case 'regeneration':
      case 'withheld':
        return this.#lines([dim(`${event.type.replaceAll('_', ' ')}: ${eventText(event)}`)])
      default:
    }
  }

  #liveEvent(event: LiveEvent): void {
    switch (event.type) {
      case 'text_delta':
      case 'reasoning_delta':
        return this.#stream(event.messageId, event.type === 'text_delta' ? 'text' : 'reasoning', event.delta)
      case 'message_discarded':
        if (this.#streamed.delete(event.messageId)) this.#lines([this.#output.colours.dim('  (withdrawn)')])
        return
      case 'tool_progress':
        return this.#lines([
          this.#output.colours.dim(
            `  ${this.#toolName(event.callId)}: ${excerpt(event.payload, this.#options.isFull)}`,
          ),
        ])
      default:
    }
  }

  #stream(messageId: string, kind: 'text' | 'reasoning', text: string): void {
    const { cyan, bold, dim } = this.#output.colours
    const before = this.#streamed.get(messageId)
    if (before === undefined) this.#lines([cyan(bold(this.#options.agent))])
    if (before !== kind) {
      this.#endLine()
      this.#output.write(kind === 'reasoning' ? dim('  thinking: ') : '  ')
    }
    this.#streamed.set(messageId, kind)
    const shifted = text.replaceAll('\n', '\n  ')
    this.#output.write(kind === 'reasoning' ? dim(shifted) : shifted)
    this.#isInLine = true
  }

  /** Of a message that was printed while it was written, only what was not text. */
  #messageLines(message: ViewMessage): readonly Printable[] {
    const style = { colours: this.#output.colours, ...this.#options }
    if (message.role === 'user' || !this.#streamed.delete(message.messageId)) return messageLines(message, style)
    const ending = message.status === 'complete' ? [] : [this.#output.colours.dim(`  (${message.status})`)]
    return [...callsOf(message).flatMap((call) => callLines(call, style)), ...ending]
  }

  /** Each call that waits is told once. */
  #pending(): void {
    const style = { colours: this.#output.colours, ...this.#options }
    if (this.#soon) clearImmediate(this.#soon)
    this.#soon = null
    for (const item of this.#shown?.view.pending ?? []) {
      const name = `${item.callId}/${item.round}`
      if (this.#shownCalls.has(name)) continue
      this.#shownCalls.add(name)
      this.#lines(pendingLines(this.#shown!.view.conversationId, item, style))
    }
  }

  #toolName(callId: string): string {
    return (this.#shown && findCall(this.#shown.log, callId)?.call.name) ?? callId
  }

  #lines(lines: readonly Printable[]): void {
    this.#endLine()
    for (const line of lines) this.#output.write(safe`${line}\n`)
  }

  #endLine(): void {
    if (this.#isInLine) this.#output.write('\n')
    this.#isInLine = false
  }
}

function callsOf({ parts }: ViewAssistantMessage) {
  return parts.filter((part) => part.type === 'call')
}
