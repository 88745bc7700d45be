import { type CallState, cutShortText, findCall, type TurnState } from '../../log/state.ts'
import type {
  Draft,
  DraftPart,
  PendingItem,
  View,
  ViewAssistantMessage,
  ViewCall,
  ViewPart,
  ViewUserMessage,
} from '../../view/view.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { type Colours, type Printable, safe } from '../terminal/text.ts'
import { perdureCommand } from './command-line.ts'
import { pendingLines } from './pending-lines.ts'
import {
  callEndLines,
  callLine,
  type LineStyle,
  otherLine,
  resolutionLine,
  userText,
  withheldText,
} from './view-lines.ts'

/** Where a transcript is written: lines stay once they are printed. */
export type Paper = {
  readonly colours: Colours
  /** Ends the open line, then prints each of these on its own line. */
  print(...lines: readonly Printable[]): void
  /** Adds to the open line. */
  append(text: Printable): void
  closeLine(): void
}

export type TranscriptOptions = {
  /** The name before the agent's text. */
  readonly agent: string
  /** Whether a message is from the person who reads. Default: none is. */
  readonly isOwn?: (who: string) => boolean
  /** How many ended turns the first view prints. Default: 20. */
  readonly earlierTurns?: number
  /** Prints only what comes after this event. */
  readonly after?: number | undefined
  /** Whether long values are printed whole. Default: false. */
  readonly isFull?: boolean
  /** Also prints withheld messages, progress, and turns that completed. Default: false. */
  readonly tellsAll?: boolean
  /** Adds the commands that answer a waiting call, on this target. */
  readonly answerOn?: TargetArgs
}

type Streamed = { readonly type: 'text' | 'reasoning'; readonly text: string }

/** Prints what is new in each view. A printed line cannot be taken back, so a note says when its text was withdrawn. */
export class Transcript {
  readonly #paper: Paper
  readonly #options: TranscriptOptions
  readonly #style: LineStyle
  readonly #done = new Set<string>()
  /** The printed texts of each message that is being written. */
  readonly #streamed = new Map<string, Streamed[]>()
  #messages: View['messages'] = []
  #hasBegun = false

  constructor(paper: Paper, options: TranscriptOptions) {
    this.#paper = paper
    this.#options = options
    this.#style = { colours: paper.colours, isFull: options.isFull ?? false }
  }

  update(view: View): void {
    if (!this.#hasBegun) this.#skipOld(view)
    this.#hasBegun = true
    if (view.messages !== this.#messages) {
      this.#messages = view.messages
      for (const turn of view.log.turns) if (!this.#done.has(`turn/${turn.turnId}`)) this.#turn(turn, view)
    }
    for (const draft of view.drafts) this.#draft(draft)
    this.#withdrawn(view)
    if (this.#options.tellsAll) this.#progress(view)
    for (const item of view.pending) {
      const { answerOn } = this.#options
      if (this.#isFirst(pendingKey(item))) this.#paper.print(...pendingLines(item, view, { ...this.#style, answerOn }))
    }
  }

  /** Prints the calls that wait once more with the next view. */
  repeatPending({ pending }: View): void {
    for (const item of pending) this.#done.delete(pendingKey(item))
  }

  #turn({ turnId, opened, end }: TurnState, view: View): void {
    for (const message of view.messages) {
      if (message.turnId !== turnId) continue
      if (message.role === 'user') this.#user(message)
      else this.#assistant(message, view)
    }
    if (!end || !this.#isFirst(`ended/${turnId}`, end.seq) || !opened) return
    if (end.status === 'completed' && !this.#options.tellsAll) return
    const { dim, yellow, red } = this.#paper.colours
    const paint = end.status === 'completed' ? dim : end.status === 'cancelled' ? yellow : red
    this.#paper.print(paint(`  the turn was ${end.status}${end.reason === null ? '' : `: ${end.reason}`}`))
  }

  /** Prints only the end of a long conversation. */
  #skipOld(view: View): void {
    const { earlierTurns = 20, after } = this.#options
    if (after !== undefined) return
    const ended = view.log.turns.filter(({ end }) => end)
    const skipped = ended.slice(0, Math.max(0, ended.length - earlierTurns))
    for (const { turnId } of skipped) this.#done.add(`turn/${turnId}`)
    if (skipped.length === 0 || earlierTurns === 0) return
    const where = `${perdureCommand()} show ${view.conversationId}`
    this.#paper.print(this.#paper.colours.dim(`  (${skipped.length} earlier turns: ${where})`))
  }

  #user(message: ViewUserMessage): void {
    if (message.isQueued || !this.#isFirst(`user/${message.seq}`, message.seq)) return
    const { cyan, bold } = this.#paper.colours
    const name = this.#options.isOwn?.(message.who) ? 'you' : message.who
    this.#paper.print('', safe`${cyan(`${name} › `)}${bold(userText(message.parts))}`)
  }

  #assistant(message: ViewAssistantMessage, view: View): void {
    const { messageId, seq, parts, status, finishReason, withheld } = message
    // If a draft of it was printed, `#withdrawn` says so.
    if (withheld && !this.#options.tellsAll) return
    if (seq > (this.#options.after ?? 0)) this.#stream(messageId, parts.filter(isStreamed))
    this.#streamed.delete(messageId)
    this.#done.add(`written/${messageId}`)
    for (const [index, part] of parts.entries()) {
      if (part.type === 'call') this.#call(part, findCall(view.log, part.callId)?.call ?? null)
      else if (part.type !== 'text' && part.type !== 'reasoning' && this.#isFirst(`part/${messageId}/${index}`, seq))
        this.#paper.print(otherLine(part, this.#style))
    }
    const cutShort = cutShortText(finishReason)
    const ending = withheld ? withheldText(withheld) : (endings[status] ?? (cutShort && `this message was ${cutShort}`))
    if (ending && this.#isFirst(`status/${messageId}`, seq)) this.#paper.print(this.#paper.colours.dim(`  (${ending})`))
  }

  #draft({ messageId, parts }: Draft): void {
    this.#stream(messageId, parts.filter(isStreamedDraft) as Streamed[])
  }

  /** Prints what was added. A text that no longer begins as printed was changed when the message was finished, and is printed again. */
  #stream(messageId: string, texts: readonly Streamed[]): void {
    if (this.#done.has(`written/${messageId}`)) return
    const printed = this.#streamed.get(messageId) ?? []
    for (const [index, { type, text }] of texts.entries()) {
      const before = printed[index]?.text ?? ''
      if (text === before) continue
      const isChanged = !text.startsWith(before)
      if (isChanged)
        this.#paper.print(this.#paper.colours.yellow('  (the finished message differs from the text above:)'))
      if (before === '' || isChanged) this.#begin(type)
      const added = isChanged ? text : text.slice(before.length)
      this.#paper.append(type === 'reasoning' ? this.#paper.colours.dim(added) : added)
      printed[index] = { type, text }
    }
    this.#streamed.set(messageId, printed)
  }

  #begin(type: Streamed['type']): void {
    const { dim, green } = this.#paper.colours
    this.#paper.closeLine()
    this.#paper.append(type === 'reasoning' ? dim('  thinks: ') : green(`${this.#options.agent} › `))
  }

  #withdrawn(view: View): void {
    for (const messageId of this.#streamed.keys()) {
      if (view.drafts.some((draft) => draft.messageId === messageId)) continue
      this.#streamed.delete(messageId)
      this.#done.add(`written/${messageId}`)
      this.#paper.print(this.#paper.colours.yellow('  (withdrawn: the text above is not part of the conversation)'))
    }
  }

  #call(part: ViewCall, call: CallState | null): void {
    if (!call) return
    const { callId, seq, rounds, result } = call
    if (this.#isFirst(`call/${callId}`, seq)) this.#paper.print(callLine(part, this.#style))
    for (const { kind, round, resolution } of rounds) {
      if (resolution === null || !this.#isFirst(`resolution/${callId}/${round}`, resolution.seq)) continue
      const line = resolutionLine(kind, resolution, this.#style)
      if (line) this.#paper.print(line)
    }
    const answer = rounds.at(-1)?.resolution
    if (!part.end || !this.#isFirst(`end/${callId}`, result?.seq ?? answer?.seq)) return
    // The line about a person's answer has said it.
    if (!result && answer && (answer.status !== 'resolved' || call.executor === 'human')) return
    this.#paper.print(...callEndLines(part, this.#style))
  }

  #progress({ progress, log }: View): void {
    for (const [callId, value] of Object.entries(progress)) {
      const text = JSON.stringify(value)
      if (!this.#isFirst(`progress/${callId}/${text}`)) continue
      this.#paper.print(this.#paper.colours.dim(`    ${findCall(log, callId)?.call.name ?? callId}: ${text}`))
    }
  }

  /** False when it was printed, or comes no later than `after`. */
  #isFirst(key: string, seq = Number.POSITIVE_INFINITY): boolean {
    if (this.#done.has(key)) return false
    this.#done.add(key)
    return seq > (this.#options.after ?? 0)
  }
}

const endings: Readonly<Record<ViewAssistantMessage['status'], string | null>> = {
  complete: null,
  cancelled: 'this message stopped here by the cancel',
  failed: 'this message broke off',
}

function pendingKey({ callId, round }: PendingItem): string {
  return `pending/${callId}/${round}`
}

function isStreamed(part: ViewPart): part is Extract<ViewPart, { type: 'text' | 'reasoning' }> {
  return (part.type === 'text' || part.type === 'reasoning') && part.text !== ''
}

function isStreamedDraft(part: DraftPart): boolean {
  return part.type !== 'tool_input' && part.text !== ''
}
