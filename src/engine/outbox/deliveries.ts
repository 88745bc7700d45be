import { createHash } from 'node:crypto'
import { delayAfter, jittered, withTimeout } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import { type Logger, rateLimited } from '../../base/logger.ts'
import { errorText } from '../../base/redact/redactor.ts'
import type { Subscriber, SubscriberEvent, SubscriberTopic, WaitingCall } from '../../define/define-subscriber.ts'
import { deepFreeze } from '../../define/turn.ts'
import type { EventOf, EventType, LogEvent } from '../../log/events.ts'
import { flowCallId, isQuestion } from '../../log/flow-questions.ts'
import type { Delivery, DeliveryEnd, Outbox } from '../../store/outbox.ts'
import type { CallNotice } from '../../store/records.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { hideWithheld } from '../../view/hidden.ts'
import { describedBy } from '../../view/view-of.ts'
import type { EngineNode } from '../node.ts'

/** How many conversations are delivered to one subscriber at once, and how many with those whose run is slow. */
const mostAtOnce = 8
const mostWithSlow = 64
/** A run that takes longer leaves its place to others, so that receivers that hang hold up only their own conversations. */
const slowAfterMs = 1_000
/** How many deliveries of one conversation follow each other before others get their turn. */
const mostInARow = 50
/** Longer than it takes to settle a delivery after its time is over. */
const leaseMarginMs = 5_000
/** How long a node that closes waits for the answer to a claim. */
const claimMs = 2_000
/** Until the store may be back, or another node has taken it. */
const laterMs = 2_000

/** A conversation that is being delivered. */
type Line = { done: Promise<void>; isSlow: boolean }

type Parts = Pick<EngineNode, 'store' | 'clock' | 'logger' | 'pollMs' | 'keepAlive' | 'redact' | 'warnOfStore'>

/** Registers the subscribers of a node, and delivers to them what commits have recorded: the rows decide, hints only make it quick. */
export class Deliveries {
  readonly #node: Parts
  readonly #outbox: Outbox
  readonly #subscribers: ReadonlyMap<string, Subscriber>
  readonly #running = new Map<string, Set<Line>>()
  readonly #closing = new AbortController()
  readonly #warn: Logger['warn']
  #cancelTimer: (() => void) | null = null
  #isRegistered = false
  #failures = 0
  #isLooking = false
  #looked: Promise<void> = Promise.resolve()
  #lookAgain = false
  #canDeliver = false
  #looksForLapsed = true
  #hasLapsed = false

  constructor(node: Parts, outbox: Outbox, subscribers: readonly Subscriber[]) {
    this.#node = node
    this.#outbox = outbox
    this.#subscribers = new Map(subscribers.map((subscriber) => [subscriber.name, subscriber]))
    this.#warn = rateLimited(node.logger, () => node.clock.now())
  }

  /**
   * Resolves when registering was tried once: what is committed after it has succeeded is recorded. A failure is tried again. `delivers`: false on a node that
   * runs nothing.
   */
  async start(delivers: boolean): Promise<void> {
    this.#canDeliver = delivers
    await this.#tick()
  }

  hint(): void {
    if (this.#isRegistered) this.#look()
  }

  /** Takes no more, waits up to `drainMs` for what runs, and puts back what did not finish. */
  async close(drainMs: number): Promise<void> {
    this.#canDeliver = false
    this.#isRegistered = false
    this.#cancelTimer?.()
    if (this.#lines().length > 0 && drainMs > 0) {
      const all = Promise.all(this.#lines()).then(() => {})
      await withTimeout(all, drainMs, this.#node.clock, () => {})
    }
    this.#closing.abort()
    // What a claim under way brings is put back, too: the store may be closed next, and its lease would count as an attempt.
    await withTimeout(this.#looked, claimMs, this.#node.clock, () => {})
    await Promise.all(this.#lines())
  }

  #lines(): Promise<void>[] {
    return [...this.#running.values()].flatMap((lines) => [...lines].map(({ done }) => done))
  }

  async #tick(): Promise<void> {
    if (this.#closing.signal.aborted) return
    let nextMs = this.#node.pollMs
    if (!this.#isRegistered) {
      await this.#register()
      if (!this.#isRegistered) nextMs = delayAfter(this.#failures, { firstMs: 100, mostMs: 10_000 })
    }
    this.#looksForLapsed = true
    if (this.#isRegistered) this.#look()
    if (this.#closing.signal.aborted || (this.#isRegistered && !this.#canDeliver)) return
    this.#cancelTimer = this.#node.clock.after(nextMs, () => void this.#tick())
  }

  async #register(): Promise<void> {
    const subscribers = [...this.#subscribers.values()]
    try {
      const registered = await this.#outbox.register(
        subscribers.map(({ name, on, agent }) => ({ name, types: typesOf(on), agent })),
      )
      this.#isRegistered = !this.#closing.signal.aborted
      this.#failures = 0
      for (const { name, stoppedAt } of registered)
        if (stoppedAt !== null)
          this.#node.logger.warn('a subscriber had stopped; what was committed since was not recorded for it', {
            subscriber: name,
            stoppedAt: new Date(stoppedAt).toISOString(),
          })
    } catch (error) {
      this.#failures += 1
      if (!this.#closing.signal.aborted)
        this.#node.warnOfStore('subscribers could not be registered; trying again', { error })
    }
  }

  #look(): void {
    this.#lookAgain = true
    if (!this.#isLooking) this.#looked = this.#lookWhileAsked()
  }

  /** Must not reject. */
  async #lookWhileAsked(): Promise<void> {
    this.#isLooking = true
    try {
      while (this.#lookAgain && this.#canDeliver) {
        this.#lookAgain = false
        for (const [room, names] of this.#byRoom())
          for (const delivery of await this.#claim(names, room, false)) this.#begin(delivery)
        if (this.#looksForLapsed && !this.#hasLapsed) await this.#takeLapsed()
      }
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#node.warnOfStore('looking for deliveries failed; trying again', { error })
    } finally {
      this.#isLooking = false
    }
  }

  /** The subscribers that can take more, by how many. */
  #byRoom(): Map<number, string[]> {
    const byRoom = new Map<number, string[]>()
    for (const name of this.#subscribers.keys()) {
      const lines = [...(this.#running.get(name) ?? [])]
      const room = Math.min(mostAtOnce - lines.filter(({ isSlow }) => !isSlow).length, mostWithSlow - lines.length)
      if (room > 0) byRoom.set(room, [...(byRoom.get(room) ?? []), name])
    }
    return byRoom
  }

  /** One at a time: should a process die of a delivery again, it takes no other with it that did so before, and only the guilty one is given up. */
  async #takeLapsed(): Promise<void> {
    for (const name of this.#subscribers.keys()) {
      const [delivery] = await this.#claim([name], 1, true)
      if (delivery) return this.#begin(delivery, true)
    }
    this.#looksForLapsed = false
  }

  #claim(names: readonly string[], limit: number, lapsed: boolean): Promise<Delivery[]> {
    const leaseMs = Math.max(...names.map((name) => this.#leaseMsOf(name)))
    return this.#outbox.claim({ subscribers: names, limit, leaseMs, lapsed })
  }

  #leaseMsOf(name: string): number {
    return this.#subscribers.get(name)!.timeoutMs + leaseMarginMs
  }

  #begin(delivery: Delivery, isLapsed = false): void {
    const { subscriber: name } = delivery
    const lines = this.#running.get(name) ?? new Set()
    this.#running.set(name, lines)
    if (isLapsed) this.#hasLapsed = true
    const letProcessEnd = this.#node.keepAlive.hold()
    const line: Line = { done: Promise.resolve(), isSlow: false }
    lines.add(line)
    line.done = this.#deliverAll(delivery, line)
      .catch((error: unknown) => {
        // Its lease ends by itself, and the line is due again.
        if (!this.#closing.signal.aborted)
          this.#warn('a delivery could not be settled; trying again', { ...placeOf(delivery), error })
      })
      .finally(() => {
        lines.delete(line)
        if (isLapsed) this.#hasLapsed = false
        letProcessEnd()
        if (this.#canDeliver) this.#look()
      })
  }

  /** Delivers one line, until it is empty, put off or lost. */
  async #deliverAll(first: Delivery, line: Line): Promise<void> {
    const subscriber = this.#subscribers.get(first.subscriber)!
    let delivery: Delivery | null = first
    for (let count = 1; delivery; count++) {
      const { maxAttempts } = subscriber.retry
      const isSpent: boolean = delivery.tries >= maxAttempts
      const current: Delivery = isSpent ? { ...delivery, tries: maxAttempts - 1 } : delivery
      const end = isSpent
        ? this.#failed(subscriber, current, new Error('the process ended while it ran'))
        : await this.#deliver(subscriber, current, line)
      const takesNext = count < mostInARow && !this.#closing.signal.aborted && end.type !== 'again'
      const settled = await this.#outbox.settle(
        current,
        takesNext ? { ...end, leaseMs: this.#leaseMsOf(subscriber.name) } : end,
      )
      delivery = settled.type === 'ok' ? settled.next : null
      // Polling would find it too late.
      if (end.type === 'again' && end.inMs < this.#node.pollMs) this.#node.clock.after(end.inMs, () => this.hint())
    }
  }

  async #deliver(subscriber: Subscriber, delivery: Delivery, line: Line): Promise<DeliveryEnd> {
    const { tries } = delivery
    try {
      const event = await this.#read(subscriber, delivery)
      if (event === 'skip') return { type: 'delivered' }
      if (event === 'later') return { type: 'again', inMs: laterMs, tries }
      failpoint('outbox.before_run')
      await this.#run(subscriber, line, (signal) =>
        subscriber.run(event, Object.freeze({ signal, attempt: tries + 1 })),
      )
      failpoint('outbox.after_run')
      return { type: 'delivered' }
    } catch (error) {
      return this.#closing.signal.aborted
        ? { type: 'again', inMs: 0, tries }
        : this.#failed(subscriber, delivery, error)
    }
  }

  /** That the store is away, or that only another node has the topic, is not an attempt. */
  async #read(subscriber: Subscriber, delivery: Delivery): Promise<SubscriberEvent | 'skip' | 'later'> {
    try {
      return await subscriberEvent(this.#node.store, delivery, subscriber.on)
    } catch (error) {
      if (!PerdureError.isInstance(error) || !error.retryable) throw error
      this.#node.warnOfStore('a delivery could not be read; trying again', { ...placeOf(delivery), error })
      return 'later'
    }
  }

  #failed({ retry }: Subscriber, delivery: Delivery, error: unknown): DeliveryEnd {
    const tries = delivery.tries + 1
    const text = this.#node.redact(errorText(error))
    if (tries < retry.maxAttempts) {
      const delayMs = jittered(delayAfter(tries, { firstMs: retry.baseMs, mostMs: retry.maxMs }))
      this.#warn('a delivery failed; trying again', { ...placeOf(delivery), attempt: tries, error })
      return { type: 'again', inMs: Math.ceil(delayMs), tries }
    }
    this.#node.logger.error('a delivery was given up; run perdure deliveries', {
      ...placeOf(delivery),
      attempts: tries,
      error,
    })
    return { type: 'failed', error: text }
  }

  /** A run that ignores its time limit continues, but the delivery no longer waits for it. */
  async #run({ timeoutMs }: Subscriber, line: Line, run: (signal: AbortSignal) => unknown): Promise<void> {
    const timer = new AbortController()
    const signal = AbortSignal.any([timer.signal, this.#closing.signal])
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    // Where the run throws before it is raced.
    late.catch(() => {})
    const cancel = this.#node.clock.after(timeoutMs, () => timer.abort(new Error(`timed out after ${timeoutMs} ms`)))
    const keepPlace = this.#node.clock.after(slowAfterMs, () => {
      line.isSlow = true
      this.hint()
    })
    try {
      signal.throwIfAborted()
      await Promise.race([Promise.resolve(run(signal)), late])
    } finally {
      cancel()
      keepPlace()
      line.isSlow = false
    }
  }
}

function placeOf({ subscriber, tenant, conversationId, seq }: Delivery): object {
  return { subscriber, tenant, id: conversationId, seq }
}

/** The types of events that a commit records for these topics. Which of them are delivered is decided when they are read. */
export function typesOf(topics: readonly SubscriberTopic[]): EventType[] {
  return topics.flatMap((topic) => (topic === 'waiting' ? (['suspension', 'flow_opened'] as const) : [topic]))
}

/** What a delivery contains: `skip` if there is nothing to deliver, `later` where this node does not have the topic. */
type ToTell = SubscriberEvent | 'skip' | 'later'

/** Reads what a delivery tells of. The row has no content: the log has it, and no more of it is read than the event, the mark before it, and the one of a restored log. */
export async function subscriberEvent(
  store: Pick<Store, 'forTenant'>,
  { subscriber, tenant, conversationId, seq }: Delivery,
  topics: readonly SubscriberTopic[],
): Promise<ToTell> {
  const handle = store.forTenant(tenant)
  const read = await handle.streamEvents(conversationId, { after: Math.max(0, seq - 2), before: seq + 1 })
  const event = [...hideWithheld(read)].find((found) => found.seq === seq)
  // Deleted meanwhile.
  if (!event) return 'skip'
  const told = topicsOf(event)
  if (told.length === 0) return 'skip'
  if (told[0] !== 'waiting' && (await isRestored(handle, event))) return 'skip'
  const topic = told.find((candidate) => topics.includes(candidate))
  if (!topic) return typesOf(topics).includes(event.type) ? 'skip' : 'later'
  const record = await handle.getConversation(conversationId)
  if (!record) return 'skip'
  const call = topic === 'waiting' ? await waitingCall(handle, event) : null
  const { at } = event
  const { agent, title } = record
  const id = idOf([subscriber, tenant, conversationId, seq, at])
  const whole = { id, topic, tenant, conversationId, seq, at, agent, title, event, ...(call ? { call } : {}) }
  deepFreeze(whole)
  return whole
}

/** The topics of the event, the narrowest first. */
function topicsOf(event: LogEvent): SubscriberTopic[] {
  if (event.type === 'suspension') return event.content.kind === 'sub_agent' ? [] : ['waiting']
  if (event.type === 'flow_opened') return isQuestion(event.content.op) ? ['waiting', 'flow_opened'] : ['flow_opened']
  return [event.type]
}

/** What a snapshot restored happened in another log, and is not news. That a call of it waits is: it waits here, under a new id. */
async function isRestored(store: TenantStore, { conversationId, seq, content }: LogEvent): Promise<boolean> {
  if ('restoredAt' in content && content.restoredAt !== undefined) return true
  const [mark] = await store.streamEvents(conversationId, { after: 1, before: 3 })
  return mark?.type === 'restored' && seq <= mark.content.through
}

async function waitingCall(store: TenantStore, event: LogEvent): Promise<WaitingCall | null> {
  const asked =
    event.type === 'suspension'
      ? { callId: event.content.callId, round: event.content.round }
      : { callId: flowCallId(event.conversationId, event.seq), round: event.seq }
  const row = await store.getToolCall(asked.callId)
  if (!row) return null
  const { name: tool, args, prompt, notice, expiresAt, status, round, kind } = row
  const isOpen = status === 'pending' && round === asked.round
  const shown = event.type === 'suspension' ? event.content.prompt : prompt
  const ownKind = event.type === 'suspension' ? event.content.kind : kind
  return {
    ...asked,
    tool,
    args,
    isOpen,
    expiresAt: isOpen ? expiresAt : null,
    kind: ownKind as WaitingCall['kind'],
    prompt: shown,
    ...(event.type === 'suspension' ? noticeIn(event, notice) : {}),
  }
}

/** The row has the line of the whole call. What was done before is read from the event, because the row may be in a later round. */
function noticeIn({ content }: EventOf<'suspension'>, notice: CallNotice | null): CallNotice {
  const { prompt, doneBefore } = content
  const described = notice?.description === undefined ? describedBy(prompt) : { description: notice.description }
  return { ...described, ...(doneBefore ? { doneBefore } : {}) }
}

/** Stable over attempts and processes. With the time: a conversation that was deleted and begun anew has the same places. */
function idOf(place: readonly (string | number)[]): string {
  return `evt_${createHash('sha256').update(JSON.stringify(place)).digest('hex').slice(0, 40)}`
}
