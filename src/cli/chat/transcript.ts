import { type CallState, findCall, type TurnState } from '../../log/state.ts'
import type {
  Draft,
  DraftPart,
  View,
  ViewAssistantMessage,
  ViewCall,
  ViewPart,
  ViewUserMessage,
} from '../../view/view.ts'
import { perdureCommand } from '../transcript/pending-lines.ts'
import { type Line, line, type Span, type Style, styled } from './line.ts'
import { callEndLines, callLine, resolutionLine } from './status-lines.ts'

/** Where a transcript goes: lines that stay once they are there. */
export type Paper = {
  print(...lines: readonly Line[]): void
  append(...spans: readonly Span[]): void
  closeLine(): void
}

export type TranscriptOptions = {
  /** The name before what the agent says. */
  readonly agent: string
  /** Messages of anybody else are shown with their name. */
  readonly who: string | null
  /** Default: the last twenty turns. */
  readonly earlierTurns?: number
}

type Streamed = { readonly type: 'text' | 'reasoning'; readonly text: string }

/** Writes down what a view has that the ones before it had not. What is printed cannot be taken back, so what is withdrawn is said to be. */
export class Transcript {
  readonly #paper: Paper
  readonly #options: TranscriptOptions
  readonly #done = new Set<string>()
  /** Of each message that is being written: its texts as far as they are printed. */
  readonly #streamed = new Map<string, Streamed[]>()
  #messages: View['messages'] = []
  #hasBegun = false

  constructor(paper: Paper, options: TranscriptOptions) {
    this.#paper = paper
    this.#options = options
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
  }

  #turn({ turnId, opened, end }: TurnState, view: View): void {
    for (const message of view.messages) {
      if (message.turnId !== turnId) continue
      if (message.role === 'user') this.#user(message)
      else this.#assistant(message, view)
    }
    if (!end || !this.#first(`ended/${turnId}`) || end.status === 'completed' || !opened) return
    const why = end.reason === null ? '' : `: ${end.reason}`
    const style: Style = end.status === 'cancelled' ? 'yellow' : 'red'
    this.#paper.print(line(styled(style, `  the turn was ${end.status}${why}`)))
  }

  /** Of a long conversation only the end is written down. */
  #skipOld(view: View): void {
    const { earlierTurns = 20 } = this.#options
    const ended = view.log.turns.filter(({ end }) => end)
    const skipped = ended.slice(0, Math.max(0, ended.length - earlierTurns))
    for (const { turnId } of skipped) this.#done.add(`turn/${turnId}`)
    if (skipped.length === 0 || earlierTurns === 0) return
    this.#paper.print(
      line(styled('dim', `  (${skipped.length} earlier turns: ${perdureCommand()} show ${view.conversationId})`)),
    )
  }

  #user(message: ViewUserMessage): void {
    if (message.isQueued || !this.#first(`user/${message.seq}`)) return
    const { who } = message
    const name = this.#options.who === null || who === this.#options.who ? 'you' : who
    this.#paper.print(line(), line(styled('cyan', `${name} › `), styled('bold', textOf(message.parts))))
  }

  #assistant(message: ViewAssistantMessage, view: View): void {
    // If a draft of it was printed, `#withdrawn` says so.
    if (message.withheld) return
    this.#stream(message.messageId, message.parts.filter(isStreamed))
    this.#streamed.delete(message.messageId)
    this.#done.add(`written/${message.messageId}`)
    for (const part of message.parts) {
      const found = part.type === 'call' ? findCall(view.log, part.callId) : null
      if (part.type === 'call' && found) this.#call(part, found.call)
      else this.#other(message.messageId, part)
    }
    if (message.status !== 'complete' && this.#first(`status/${message.messageId}`)) {
      const how = message.status === 'cancelled' ? 'stopped here by the cancel' : 'broke off'
      this.#paper.print(line(styled('dim', `  (this message ${how})`)))
    }
  }

  #draft({ messageId, parts }: Draft): void {
    if (this.#done.has(`written/${messageId}`)) return
    this.#stream(messageId, parts.filter(isStreamedDraft) as Streamed[])
  }

  /** Prints what has come since. A text that does not begin as it was printed was changed while it was finished: it is printed anew. */
  #stream(messageId: string, texts: readonly Streamed[]): void {
    if (this.#done.has(`written/${messageId}`)) return
    const printed = this.#streamed.get(messageId) ?? []
    for (const [index, { type, text }] of texts.entries()) {
      const before = printed[index]?.text ?? ''
      if (text === before) continue
      const style: Style = type === 'reasoning' ? 'dim' : 'plain'
      const isChanged = !text.startsWith(before)
      if (isChanged) this.#paper.print(line(styled('yellow', '  (what is above was changed when it was finished:)')))
      if (before === '' || isChanged) this.#begin(type)
      this.#paper.append(styled(style, isChanged ? text : text.slice(before.length)))
      printed[index] = { type, text }
    }
    this.#streamed.set(messageId, printed)
  }

  #begin(type: Streamed['type']): void {
    this.#paper.closeLine()
    if (type === 'reasoning') this.#paper.append(styled('dim', '  thinks: '))
    else this.#paper.append(styled('green', `${this.#options.agent} › `))
  }

  #withdrawn(view: View): void {
    for (const messageId of this.#streamed.keys()) {
      if (view.drafts.some((draft) => draft.messageId === messageId)) continue
      this.#streamed.delete(messageId)
      this.#done.add(`written/${messageId}`)
      this.#paper.print(line(styled('yellow', '  (what is above was withdrawn: it is not part of the conversation)')))
    }
  }

  #call(part: ViewCall, call: CallState): void {
    if (this.#first(`call/${call.callId}`)) this.#paper.print(callLine(part))
    for (const round of call.rounds) {
      if (round.resolution === null || !this.#first(`resolution/${call.callId}/${round.round}`)) continue
      const told = resolutionLine(round.kind, round.resolution)
      if (told) this.#paper.print(told)
    }
    if (part.end && this.#first(`end/${call.callId}`)) this.#paper.print(...callEndLines(part, call))
  }

  #other(messageId: string, part: ViewPart): void {
    if (part.type !== 'provider_call' && part.type !== 'plain_call' && part.type !== 'source' && part.type !== 'file')
      return
    const key = `other/${messageId}/${JSON.stringify(part)}`
    if (!this.#first(key)) return
    const what =
      part.type === 'source'
        ? `source: ${JSON.stringify(part.source)}`
        : part.type === 'file'
          ? `file: ${part.filename ?? part.mediaType}`
          : `${part.name} ${JSON.stringify(part.args)} ${part.type === 'plain_call' ? '(not run)' : '(run by the model’s host)'}`
    this.#paper.print(line(styled('dim', `  ▸ ${what}`)))
  }

  #first(key: string): boolean {
    if (this.#done.has(key)) return false
    this.#done.add(key)
    return true
  }
}

function isStreamed(part: ViewPart): part is Extract<ViewPart, { type: 'text' | 'reasoning' }> {
  return (part.type === 'text' || part.type === 'reasoning') && part.text !== ''
}

function isStreamedDraft(part: DraftPart): boolean {
  return part.type !== 'tool_input' && part.text !== ''
}

function textOf(parts: ViewUserMessage['parts']): string {
  return parts.map((part) => (part.type === 'text' ? part.text : `[${part.filename ?? part.mediaType}]`)).join(' ')
}
