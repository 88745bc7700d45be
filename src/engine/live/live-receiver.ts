import { type ConversationRef, conversationKey } from '../../store/records.ts'
import { charactersOf } from '../../view/live-events.ts'
import type { LiveContent } from '../../view/view.ts'
import type { Channel } from './channel.ts'
import type { LiveItem, TextItem } from './live-message.ts'
import { interestMs, mostCharacters } from './live-sender.ts'

/** What may wait for the log to grow. Beyond it all of it is dropped, and the owner asked for the whole. */
const mostItems = 1_000
const mostWaitingCharacters = 1024 * 1024
/** How long an owner is waited for before what is known is shown without it. */
const answerMs = 1_000
/** For how long it is then not waited for again. */
const unansweredMs = 5_000
const mostUnanswered = 1_000
/** How often the owner is asked for the whole, and the log is looked at, at most. */
const askAgainMs = 250
const pollAgainMs = 100

/** How often what is watched is announced. */
export const renewMs = interestMs / 3

type Parts = {
  readonly now: () => number
  /** Sends the announcement: `isNew`, with a request for the whole. */
  readonly announce: (ref: ConversationRef, isNew: boolean) => void
  /** When an owner was last waited for in vain, by conversation. Kept beyond one reader: each view is one. */
  readonly unanswered: Map<string, number>
}

/** What is live at another node, for the watchers of one conversation here. */
export class LiveReceiver {
  readonly ref: ConversationRef
  readonly #channel: Channel
  readonly #parts: Parts
  #waiting: { readonly epoch: number; readonly item: LiveItem }[] = []
  #characters = 0
  /** Under which epoch the whole was received; null: it was not, or something is missing since. */
  #wholeOf: number | null = null
  #isWanted = false
  #askedAt = Number.NEGATIVE_INFINITY
  #announcedAt = Number.NEGATIVE_INFINITY
  #polledAt = Number.NEGATIVE_INFINITY
  #askingAgain: NodeJS.Timeout | null = null
  readonly #whenKnown = new Set<() => void>()

  constructor(ref: ConversationRef, channel: Channel, parts: Parts) {
    this.ref = ref
    this.#channel = channel
    this.#parts = parts
  }

  /** Whether watchers here want to know what an owner elsewhere says. */
  get isWanted(): boolean {
    return this.#isWanted
  }

  /** The listeners, the owners or the log of the channel have changed. */
  changed(): void {
    const channel = this.#channel
    const isWanted = channel.isShown && channel.isActive && !channel.isOwned
    if (isWanted && !this.#isWanted) {
      // While the last announcement holds, the next owner sends the whole when it begins.
      this.#wholeOf = null
      if (this.#parts.now() - this.#announcedAt >= renewMs) this.ask()
    }
    this.#isWanted = isWanted
    if (!channel.isShown) this.#reset()
    if (!isWanted) this.#tellKnown()
    if (this.#waiting.length > 0) this.#takeWaiting()
  }

  /** Asks for the whole. What was received may lack something. */
  ask(): void {
    this.#wholeOf = null
    this.#askedAt = this.#parts.now()
    this.#announcedAt = this.#askedAt
    this.#parts.announce(this.ref, true)
  }

  renew(): void {
    if (this.#wholeOf === null) return this.ask()
    this.#announcedAt = this.#parts.now()
    this.#parts.announce(this.ref, false)
  }

  take(epoch: number, items: readonly LiveItem[]): void {
    if (!this.#channel.isShown || epoch < this.#channel.epoch) return
    for (const item of items) {
      this.#waiting.push({ epoch, item })
      this.#characters += item.type === 'text' ? item.text.length : 0
    }
    this.#takeWaiting()
    if (this.#waiting.length > mostItems || this.#characters > mostWaitingCharacters) {
      this.#reset()
      this.#askAgain()
    }
    // The log is behind what its owner says: the hint may be lost, or late.
    else if (this.#waiting.length > 0 && this.#parts.now() - this.#polledAt >= pollAgainMs) {
      this.#polledAt = this.#parts.now()
      void this.#channel.poll()
    }
  }

  /** Resolves when what is live is known here, or does not come in time. */
  async known(): Promise<void> {
    if (!this.#isWanted || this.#wholeOf !== null) return
    const { now, unanswered } = this.#parts
    const key = conversationKey(this.ref.tenant, this.ref.id)
    if (now() - (unanswered.get(key) ?? Number.NEGATIVE_INFINITY) < unansweredMs) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#whenKnown.delete(end)
        resolve()
      }
      const timer = setTimeout(() => {
        if (unanswered.size >= mostUnanswered) unanswered.clear()
        unanswered.set(key, now())
        end()
      }, answerMs)
      this.#whenKnown.add(end)
    })
  }

  #takeWaiting(): void {
    const known = this.#channel.state?.lastSeq ?? -1
    while (this.#waiting.length > 0 && this.#waiting[0]!.item.seq <= known) {
      const { epoch, item } = this.#waiting.shift()!
      this.#characters -= item.type === 'text' ? item.text.length : 0
      this.#apply(epoch, item)
    }
  }

  #apply(epoch: number, item: LiveItem): void {
    switch (item.type) {
      case 'other':
        this.#channel.receive(item.content, item.seq, epoch)
        return
      case 'text':
        return this.#addText(epoch, item)
      case 'whole':
        return this.#beginWhole(epoch, item)
      case 'end':
        if (epoch < this.#channel.epoch) return
        this.#wholeOf = epoch
        this.#tellKnown()
    }
  }

  /** Adds what follows the text that is known. */
  #addText(epoch: number, item: TextItem): void {
    const channel = this.#channel
    if (epoch < channel.epoch) return
    const { turnId, messageId, attempt, at, text, part } = item
    const draft = epoch > channel.epoch ? undefined : channel.live.drafts.find((known) => known.messageId === messageId)
    const known = draft ? charactersOf(draft) : 0
    if (at > known) return this.#askAgain()
    const delta = text.slice(known - at)
    if (delta === '' || known + delta.length > mostCharacters) return
    const place = { turnId, messageId, n: (draft?.n ?? 0) + 1, part, delta, ...(attempt > 1 ? { attempt } : {}) }
    const content: LiveContent =
      item.kind === 'tool_input'
        ? { type: 'tool_input_delta', ...place, callId: part, name: item.name }
        : { type: item.kind === 'text' ? 'text_delta' : 'reasoning_delta', ...place }
    channel.receive(content, item.seq, epoch)
  }

  #beginWhole(epoch: number, { seq, messageId, activity }: Extract<LiveItem, { type: 'whole' }>): void {
    const channel = this.#channel
    if (!channel.adopt(epoch, seq)) return
    for (const draft of channel.live.drafts)
      if (draft.messageId !== messageId)
        channel.receive({ type: 'message_discarded', turnId: draft.turnId, messageId: draft.messageId }, seq, epoch)
    if (activity !== null && activity !== channel.live.activity)
      channel.receive({ type: 'phase_changed', phase: activity }, seq, epoch)
  }

  #askAgain(): void {
    this.#wholeOf = null
    if (!this.#isWanted) return
    const waitMs = this.#askedAt + askAgainMs - this.#parts.now()
    if (waitMs <= 0) return this.ask()
    this.#askingAgain ??= setTimeout(() => {
      this.#askingAgain = null
      if (this.#isWanted && this.#wholeOf === null) this.ask()
    }, waitMs).unref()
  }

  #reset(): void {
    this.#waiting = []
    this.#characters = 0
    this.#wholeOf = null
  }

  #tellKnown(): void {
    for (const tell of [...this.#whenKnown]) tell()
  }
}
