import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError } from '../../../src/base/errors/perdure-error.ts'
import { type Client, createClient } from '../../../src/client/index.ts'
import { requestJson } from '../../../src/client/request.ts'
import type { TurnOutcome } from '../../../src/engine/live/turn-outcome.ts'
import { GrowingView } from '../../../src/view/growing-view.ts'
import type { PendingItem } from '../../../src/view/view.ts'
import type { SeededRandom } from '../harness/seeded-random.ts'
import { type Plan, plans, poison } from './agents.ts'
import type { Given, History, Reading, Sent, Session } from './history.ts'
import { GaveUpError, type People } from './people.ts'
import { textOf } from './steering-rules.ts'

const kinds = [...plans, 'session', 'write'] as const

/** How many conversations are talked to again and again, by way of any node. */
const regulars = 4

/** How long after the end of a text its readers must have seen it: they may be at a node that is silent. */
const readWithinMs = 30_000

type Turn = { readonly conversation: string; readonly turnId: string }

/** What people do with the fleet, told to its end each time, and everything they hear written down. */
export class Stories {
  readonly #people: People
  readonly #history: History
  readonly #random: SeededRandom
  /** Stories that were not told to their end. */
  readonly unfinished: string[] = []
  #begun = 0
  #isOver = false

  constructor(people: People, history: History, random: SeededRandom) {
    this.#people = people
    this.#history = history
    this.#random = random
  }

  get begun(): number {
    return this.#begun
  }

  /** No new ones begin; those that have go on. */
  stop(): void {
    this.#isOver = true
  }

  /** Tells one after another until it is stopped. Resolves when the last has come to its end, or was given up. */
  async tell(): Promise<void> {
    while (!this.#isOver) {
      this.#begun += 1
      const name = `talk${this.#begun}`
      // Each kind comes in its turn, so that a short run has them all.
      const kind = kinds[this.#begun % kinds.length]!
      await this.#toItsEnd(kind, () => this.#story(kind, name))
      await sleep(this.#random.int(0, 100))
    }
  }

  async #toItsEnd(name: string, story: () => Promise<void>): Promise<void> {
    try {
      await story()
    } catch (error) {
      if (!(error instanceof GaveUpError)) throw error
      this.unfinished.push(`${name}: ${error.message}`)
    }
  }

  /** One conversation ends every process that takes it up, until it is set aside. Then its turn is cancelled, which runs nothing of it, and it is released. */
  async poison(): Promise<void> {
    await this.#toItsEnd(poison, () => this.#poisonAndRelease(poison))
  }

  async #poisonAndRelease(id: string): Promise<void> {
    const turn = await this.#send(id, poison, {})
    const isSetAside = async (client: Client): Promise<boolean> =>
      (await client.conversation(id).record()).quarantinedAt !== undefined
    for (;;) {
      const heard = await this.#people.ask(`operator-${id}`, isSetAside)
      if ('value' in heard && heard.value) break
      await sleep(200)
    }
    this.#history.quarantine = 'told'
    await this.#cancel(turn)
    await this.#follow(turn)
    await this.#people.ask('operator', (_, options) =>
      requestJson(options, '/store/unquarantine', { method: 'POST', body: () => ({ id }) }),
    )
    this.#history.quarantine = 'released'
  }

  async #story(kind: (typeof kinds)[number], name: string): Promise<void> {
    if (kind === 'session') await this.#session(name)
    else if (kind !== 'write') await this.#conversation(name, kind)
    else await Promise.all([this.#writing(`${name}-a`), this.#writing(`${name}-b`)])
  }

  /** A text, read while it is written, at any node. */
  async #writing(id: string): Promise<void> {
    const turn = await this.#send(id, 'write', {}, 'scribe')
    const { name: node, url } = this.#people.anyNode()
    const reading: Reading = { conversation: id, node, shown: [], isWhole: false }
    this.#history.readings.push(reading)
    const stop = new AbortController()
    const isRead = this.#read(reading, { client: createClient({ url, token: `reader-${id}` }), signal: stop.signal })
    try {
      await this.#follow(turn)
      await Promise.race([isRead, sleep(readWithinMs, null, { ref: false })])
    } finally {
      stop.abort()
      await isRead
    }
  }

  async #read(reading: Reading, { client, signal }: { client: Client; signal: AbortSignal }): Promise<void> {
    let view: GrowingView | null = null
    for await (const { event } of client.conversation(reading.conversation).watch({ signal, silentMs: 3_000 })) {
      if (event.type === 'snapshot') view = new GrowingView(event.view)
      else view?.take(event)
      if (!view) continue
      const { drafts, messages } = view.view
      reading.shown.push({
        drafts: drafts.map(({ parts }) => textOf(parts)),
        messages: messages.filter(({ role }) => role === 'assistant').map(({ parts }) => textOf(parts)),
      })
      if (view.log.turns.some(({ end }) => end)) {
        reading.isWhole = true
        return
      }
    }
  }

  /** A conversation of its own, or one that many come back to. */
  async #conversation(name: string, plan: Plan): Promise<void> {
    const isRegular = this.#random.chance(0.3)
    const id = isRegular ? `regular${this.#random.int(1, regulars)}` : name
    const first = await this.#send(id, plan, isRegular ? { whenBusy: 'queue' } : {})
    const others: Turn[] = []
    if (this.#random.chance(0.2)) {
      const whenBusy = this.#random.pick(['queue', 'steer', 'interrupt'] as const)
      others.push(await this.#send(id, this.#random.pick(plans), { whenBusy }))
    }
    const isCancelled = this.#random.chance(0.1)
    const stop = new AbortController()
    const watching = this.#random.chance(0.2) ? this.#watch(id, stop.signal) : Promise.resolve()
    try {
      await Promise.all([
        ...[first, ...others].map((turn) => this.#follow(turn)),
        ...(isCancelled ? [this.#cancel(first)] : []),
      ])
    } finally {
      stop.abort()
      await watching
    }
  }

  /** From the beginning, until it is stopped or its node does not know an event. */
  async #watch(conversation: string, signal: AbortSignal): Promise<void> {
    const seen: string[] = []
    this.#history.watched.push({ conversation, seen })
    const client = createClient({ url: this.#people.anyUrl(), token: `watcher-${conversation}` })
    try {
      for await (const { event } of client.conversation(conversation).watch({ after: 0, signal, silentMs: 3_000 })) {
        if ('content' in event) seen.push(`${event.seq} ${event.type} ${event.at}`)
      }
    } catch (error) {
      if (!PerdureError.isInstance(error) || error.code !== 'event_unknown') throw error
    }
  }

  async #send(
    id: string,
    plan: Plan | typeof poison | 'write',
    options: { whenBusy?: 'queue' | 'steer' | 'interrupt' },
    agent = 'office',
  ): Promise<Turn> {
    const key = `${id}/${this.#history.sends.length}`
    const sent: Sent = { conversation: id, key, told: [] }
    this.#history.sends.push(sent)
    const text = `${plan} ${id} ${this.#random.int(10, 600)} ${key}`
    const send = async (client: Client): Promise<string> => {
      const { turnId } = await client.conversation(id, { agent }).send(text, { key, ...options })
      sent.told.push(turnId)
      return turnId
    }
    // A sender that is not sure sends again, sometimes before the first answer has come.
    const times = this.#random.chance(0.2) ? 2 : 1
    const heard = await Promise.all(Array.from({ length: times }, () => this.#people.ask(`sender-${id}`, send)))
    const [answer] = heard
    if (!answer || !('value' in answer)) throw new Error('a message was refused')
    return { conversation: id, turnId: answer.value }
  }

  /** Until the turn has ended: whatever waits for an answer meanwhile gets one. */
  async #follow({ conversation, turnId }: Turn): Promise<void> {
    const ask = (client: Client): Promise<TurnOutcome> =>
      client.conversation(conversation).outcome(turnId, { signal: AbortSignal.timeout(4_000) })
    for (;;) {
      const gone = ['turn_not_found', 'conversation_not_found']
      const heard = await this.#people.ask(`reader-${conversation}`, ask, gone)
      if ('refused' in heard) {
        this.#history.denials.push(`turn ${turnId} of ${conversation} was acknowledged, and is ${heard.refused}`)
        return
      }
      const outcome = heard.value
      if (outcome.status === 'waiting') await Promise.all(outcome.pending.map((item) => this.#decide(item)))
      else if (outcome.status !== 'detached') {
        const { status, text } = outcome
        this.#history.ends.push({ conversation, turnId, status, text })
        return
      }
      await sleep(this.#random.int(20, 100))
    }
  }

  async #cancel({ conversation, turnId }: Turn): Promise<void> {
    await sleep(this.#random.int(0, 400))
    const cancel = (client: Client) => client.conversation(conversation).cancel({ turnId })
    const heard = await this.#people.ask(`canceller-${conversation}`, cancel, ['turn_ended'])
    if (!('value' in heard) || !heard.value || !('turnId' in heard.value)) return
    const { status } = heard.value
    if (status !== 'waiting' && status !== 'detached') {
      this.#history.ends.push({ conversation, turnId, status, text: null })
    }
  }

  /** Often two people at once, who may not agree. */
  async #decide(item: PendingItem): Promise<void> {
    const deciders = this.#random.chance(0.5) ? ['ann', 'bob'] : ['ann']
    await Promise.all(deciders.map((name) => this.#say(`${name}-${this.#history.answers.length}`, item)))
  }

  async #say(who: string, { conversationId: conversation, callId, round, kind }: PendingItem): Promise<void> {
    const verb = kind !== 'approval' ? 'answer' : this.#random.chance(0.8) ? 'approve' : 'deny'
    const value = kind === 'recovery' ? this.#random.pick(['rerun', 'report']) : `the answer of ${who}`
    const given: Given = { conversation, callId, round, who, verb, value, told: [] }
    this.#history.answers.push(given)
    const call = { callId, round }
    // A retry after a lost acknowledgement must get the same answer.
    const key = `${who}/${callId}/${round}`
    const say = async (client: Client): Promise<void> => {
      const chat = client.conversation(conversation)
      if (verb === 'approve') given.told.push(await chat.approve(call, { key }))
      else if (verb === 'deny') given.told.push(await chat.deny(call, { reason: value, key }))
      else given.told.push(await chat.answer(call, value, { key }))
    }
    await this.#people.ask(who, say, ['call_not_found'])
  }

  async #session(id: string): Promise<void> {
    const session: Session = { id, isStarted: false, resumedWith: null, isResumed: false, end: null }
    this.#history.sessions.push(session)
    await this.#people.ask(`starter-${id}`, async (client) => {
      await client.flow('errand', id).start(id, { key: `start/${id}` })
      session.isStarted = true
    })
    for (;;) {
      const heard = await this.#people.ask(`reader-${id}`, (client) => client.flow('errand', id).status(), [
        'no_session',
      ])
      if ('refused' in heard) {
        this.#history.denials.push(`session ${id} was acknowledged, and is ${heard.refused}`)
        return
      }
      const { status, result } = heard.value
      if (status === 'done' || status === 'failed') {
        session.end = status === 'done' ? result : 'failed'
        return
      }
      if (status === 'waiting' && !session.isResumed) await this.#resume(session)
      await sleep(this.#random.int(50, 150))
    }
  }

  async #resume(session: Session): Promise<void> {
    const { id } = session
    session.resumedWith = `the answer to ${id}`
    const resume = (client: Client) => client.flow('errand', id).resume(session.resumedWith, { key: `resume/${id}` })
    await this.#people.ask(`resumer-${id}`, resume)
    session.isResumed = true
  }
}
