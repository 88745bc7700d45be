import type { RemoteMessage } from '../client/conversation.ts'
import { GrowingView, type WatchEvent } from '../view/growing-view.ts'
import type { Draft, View, ViewMessage } from '../view/view.ts'
import { keepByKey, keepIdentity } from './keep-identity.ts'
import type { Link } from './link.ts'
import { type LiveStatus, LiveStore, statusOf } from './live-store.ts'

/** What a page knows of a conversation. What did not change is the same object as before. */
export type ConversationSnapshot = {
  /** Null until the first view has come. */
  readonly view: View | null
  /** The messages of the view, after those that `loadOlder` has read. */
  readonly messages: readonly ViewMessage[]
  /** Whether there are messages before these. */
  readonly hasOlder: boolean
  readonly status: LiveStatus
  readonly error: unknown
  /** Messages that the server has not yet said to be durable, oldest first. */
  readonly sending: readonly SendingMessage[]
}

/** A message on its way. */
export type SendingMessage = { readonly key: string; readonly message: RemoteMessage; readonly at: number }

export const noConversation: ConversationSnapshot = {
  view: null,
  messages: [],
  hasOlder: false,
  status: 'loading',
  error: null,
  sending: [],
}

/** How long a message that is durable counts as on its way until the stream has brought it. */
const shownWithinMs = 1_000

/** One conversation, shared by all components that show it. */
export class ConversationStore {
  readonly id: string
  readonly live: LiveStore<ConversationSnapshot>
  /** The snapshot of the last change that was more than text of a draft. */
  readonly settled: LiveStore<ConversationSnapshot>
  readonly #link: Link
  #growing: GrowingView | null = null
  /** The view as it was computed, from which the shown one was made. */
  #raw: View | null = null
  #lastId: string | null = null
  #older: { readonly messages: readonly ViewMessage[]; readonly before: number | null } | null = null

  constructor(link: Link, id: string) {
    this.id = id
    this.#link = link
    this.live = new LiveStore(link.tab, noConversation, () => this.#follow())
    this.settled = new LiveStore(link.tab, noConversation, () => this.live.subscribe(() => {}))
  }

  /** Connects again, also after the server has refused. */
  readonly reload = (): void => {
    this.live.restart()
    this.#link.retry()
  }

  /** Reads the messages before the first one that is shown. */
  readonly loadOlder = async (): Promise<void> => {
    const before = this.#older ? this.#older.before : (this.live.value.view?.before ?? null)
    if (before === null) return
    const page = await this.#link.client.conversation(this.id).history({ before })
    this.#older = { messages: [...page.messages, ...(this.#older?.messages ?? [])], before: page.before }
    this.#show({})
  }

  setSending(change: (sending: readonly SendingMessage[]) => readonly SendingMessage[]): void {
    this.#set({ sending: change(this.live.value.sending) })
  }

  /** Resolves when a message of the turn is shown, or after a second: it is durable, and the stream may be down. */
  async shows(turnId: string): Promise<void> {
    const isShown = (): boolean => this.live.value.view?.messages.some((message) => message.turnId === turnId) ?? false
    if (isShown() || !this.live.isRunning) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, shownWithinMs)
      const leave = this.live.subscribe(() => isShown() && end())
      function end(): void {
        clearTimeout(timer)
        leave()
        resolve()
      }
    })
  }

  /** The conversation was deleted here. */
  setGone(): void {
    this.#set({ status: 'gone' })
  }

  #follow(): () => void {
    const frame = nextFrame(() => this.#show({ status: 'live', error: null }))
    const stop = this.#link.follow(this.id, this.#lastId, {
      onEvent: (event, id) => {
        try {
          this.#take(event, id)
          frame.request()
        } catch (error) {
          stop()
          frame.cancel()
          this.#show({ status: 'failed', error })
        }
      },
      onConnect: () => {
        if (this.#growing) this.#set({ status: 'live', error: null })
      },
      onDisconnect: (error) => this.#set({ status: statusOf(error, this.#growing !== null), error }),
      onEnd: (error) => {
        frame.cancel()
        const status = statusOf(error, false)
        // One of the same name would begin anew.
        if (status === 'gone') this.#lastId = null
        this.#show({ status, error })
      },
    })
    return () => {
      stop()
      frame.flush()
    }
  }

  #take(event: WatchEvent, id: string | null): void {
    if (this.#growing) this.#growing.take(event)
    else if (event.type === 'snapshot') this.#growing = new GrowingView(event.view)
    this.#lastId = id
  }

  #show(change: Partial<ConversationSnapshot>): void {
    const raw = this.#growing?.view
    if (!raw) return this.#set(change)
    const before = this.live.value.view
    const view = before && this.#raw ? sameWhereEqual(before, this.#raw, raw) : raw
    this.#raw = raw
    this.#keepOlder(before, view)
    const older = this.#older?.messages ?? []
    const messages = keepByKey(this.live.value.messages, [...older, ...view.messages], ({ seq }) => seq)
    const hasOlder = (this.#older ? this.#older.before : view.before) !== null
    this.#set({ view, messages, hasOlder, ...change })
  }

  /** A view that grew too long dropped its first messages: they are kept where the page already has older ones. */
  #keepOlder(before: View | null, view: View): void {
    if (!this.#older || !before) return
    const [first] = view.messages
    const isConnected = first && before.messages.some(({ seq }) => seq === first.seq)
    if (!isConnected) this.#older = before.messages.length === 0 ? this.#older : null
    else {
      const dropped = before.messages.filter(({ seq }) => seq < first.seq)
      if (dropped.length > 0) this.#older = { ...this.#older, messages: [...this.#older.messages, ...dropped] }
    }
  }

  #set(change: Partial<ConversationSnapshot>): void {
    const next = { ...this.live.value, ...change }
    const kept = keepShallow(this.live.value, next)
    this.live.set(kept)
    this.#settle(kept)
  }

  #settle(is: ConversationSnapshot): void {
    const was = this.settled.value
    if (!was.view || !is.view) return this.settled.set(is)
    const view = hasSameDrafts(was.view.drafts, is.view.drafts) ? { ...is.view, drafts: was.view.drafts } : is.view
    this.settled.set(keepShallow(was, { ...is, view: keepShallow(was.view, view) }))
  }
}

/** Each field that did not change is the object that is shown already. */
function sameWhereEqual(shown: View, rawBefore: View, raw: View): View {
  const fields = Object.keys(raw) as (keyof View)[]
  const kept = fields.map((field) => {
    if (raw[field] === rawBefore[field]) return [field, shown[field]]
    if (field === 'messages') return [field, keepByKey(shown.messages, raw.messages, ({ seq }) => seq)]
    return [field, field === 'log' ? raw.log : keepIdentity(shown[field], raw[field])]
  })
  return keepShallow(shown, Object.fromEntries(kept) as View)
}

function keepShallow<T extends object>(before: T, next: T): T {
  const names = Object.keys(next) as (keyof T)[]
  const isSame =
    names.length === Object.keys(before).length && names.every((name) => Object.is(next[name], before[name]))
  return isSame ? before : next
}

function hasSameDrafts(one: readonly Draft[], other: readonly Draft[]): boolean {
  return one.length === other.length && one.every(({ messageId }, index) => messageId === other[index]!.messageId)
}

/** The store stops waiting for a frame that is not drawn within this time. */
const mostMs = 50

type Frames = {
  readonly requestAnimationFrame?: (callback: () => void) => number
  readonly cancelAnimationFrame?: (id: number) => void
}

/** Work that is done at most once for each frame that the browser draws, however often it is requested. */
function nextFrame(work: () => void): { request(): void; flush(): void; cancel(): void } {
  const { requestAnimationFrame, cancelAnimationFrame } = globalThis as Frames
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const cancel = (): void => {
    clearTimeout(timer)
    timer = undefined
    cancelAnimationFrame?.(frame)
  }
  const flush = (): void => {
    if (timer === undefined) return
    cancel()
    work()
  }
  const request = (): void => {
    if (timer !== undefined) return
    timer = setTimeout(flush, requestAnimationFrame ? mostMs : 0)
    if (requestAnimationFrame) frame = requestAnimationFrame(flush)
  }
  return { request, flush, cancel }
}
