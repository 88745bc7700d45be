import { createHash, randomBytes } from 'node:crypto'
import type { Client, QueryConfig } from 'pg'
import { pause } from '../../base/abort.ts'
import { type LiveBus, type LiveLink, type LiveMessage, type LiveReceiver, maxTextBytes } from '../live-bus.ts'
import { loadPg, socketOf, type Unreferenced, withTimeout } from './connection.ts'
import type { HintChannelOptions } from './hints.ts'

const reconnectDelaysMs = [50, 200, 1_000, 3_000]
const closeWithinMs = 1_000
/** A batch that takes longer counts as lost. */
const sendWithinMs = 5_000

/**
 * Sends live events by NOTIFY on a connection of its own, which is opened for the first node that drives or watches a conversation. A node listens to a channel for all and
 * one for itself, so it does not receive what is sent to another node. NOTIFY makes notifying transactions wait for each other, but no others; and these do not
 * wait for the disk. Everything here may fail without harm: see `LiveBus`.
 */
export class PostgresLiveBus implements LiveBus {
  readonly #options: HintChannelOptions
  readonly #base: string
  readonly #joined = new Map<string, LiveReceiver>()
  #client: Client | null = null
  #isOpening = false
  #isOpened = false
  #isClosed = false
  #failures = 0
  #hasWarned = false
  #check: NodeJS.Timeout | null = null
  #lastQuery: Promise<unknown> = Promise.resolve()
  readonly #whole = new Whole()
  /** Makes each notification different: those of one transaction that are equal are delivered once. */
  #sent = 0

  constructor(options: HintChannelOptions) {
    this.#options = options
    this.#base = `perdurelive_${createHash('sha256').update(options.schema).digest('hex').slice(0, 16)}`
  }

  join(receiver: LiveReceiver): LiveLink {
    const name = randomBytes(8).toString('hex')
    return {
      name,
      open: () => {
        if (this.#isClosed || this.#joined.has(name)) return
        this.#joined.set(name, receiver)
        this.#isOpened = true
        const client = this.#client
        if (client) void this.#listen(client, name).then((isUp) => isUp && receiver.connected())
        else void this.#connect()
      },
      send: (batch) => this.#send(name, batch),
      close: async () => {
        this.#joined.delete(name)
        if (this.#joined.size === 0) await this.#disconnect()
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#joined.clear()
    await this.#disconnect()
  }

  async #disconnect(): Promise<void> {
    if (this.#check) clearInterval(this.#check)
    this.#check = null
    this.#isOpened = false
    const client = this.#client
    this.#client = null
    if (!client) return // Otherwise a process that has nothing else to do would end here, in the middle of closing.
    ;(client as Client & Unreferenced).ref()
    await Promise.race([client.end().catch(() => {}), pause(closeWithinMs, { unref: true })])
    socketOf(client)?.destroy()
  }

  async #send(from: string, batch: readonly LiveMessage[]): Promise<boolean> {
    const client = this.#client
    if (!client) return false
    const [channels, payloads]: [string[], string[]] = [[], []]
    for (const { to, text } of batch) {
      this.#sent += 1
      for (const payload of payloadsOf(from, this.#sent, text)) {
        channels.push(this.#channel(to))
        payloads.push(payload)
      }
    }
    const text = 'SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS live(channel, payload)'
    return this.#query(client, { text, values: [channels, payloads] })
  }

  async #connect(): Promise<void> {
    if (this.#isOpening || this.#client) return
    this.#isOpening = true
    try {
      const client = await this.#open()
      const heard = new Set<string | null>()
      for (let next: string | null | undefined = null; next !== undefined; ) {
        if (!(await this.#listen(client, next))) throw new Error('the server did not answer')
        heard.add(next)
        next = [...this.#joined.keys()].find((name) => !heard.has(name))
      }
      if (!this.#isOpened) return void client.end().catch(() => {})
      this.#client = client
      this.#failures = 0
      if (this.#hasWarned) this.#options.logger.info('the connection for live text is back')
      this.#hasWarned = false
      this.#check ??= setInterval(() => void this.#checkConnection(), this.#options.hintCheckMs).unref()
      for (const receiver of this.#joined.values()) receiver.connected()
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#isOpening = false
    }
    if (!this.#client && this.#isOpened) this.#connectLater()
  }

  #connectLater(): void {
    if (!this.#isOpened) return
    const delayMs = reconnectDelaysMs[Math.min(this.#failures, reconnectDelaysMs.length - 1)]!
    this.#failures += 1
    setTimeout(() => {
      if (this.#isOpened) void this.#connect()
    }, delayMs).unref()
  }

  #failed(error: unknown): void {
    if (this.#hasWarned || !this.#isOpened) return
    this.#hasWarned = true
    const told =
      'the connection for live text broke; text of other nodes is shown when it is committed, until it is back'
    this.#options.logger.warn(told, { error })
  }

  async #open(): Promise<Client> {
    const pg = await loadPg()
    const { connectTimeoutMs: connectionTimeoutMillis } = this.#options
    const connectionString = this.#options.directConnectionString ?? this.#options.connectionString
    const client = new pg.Client({ connectionString, keepAlive: true, connectionTimeoutMillis })
    const onDown = (error?: unknown): void => {
      if (this.#client !== client) return
      this.#client = null
      this.#failed(error)
      this.#connectLater()
    }
    client.on('error', onDown)
    client.on('end', () => onDown())
    client.on('notification', ({ channel, payload }) => this.#receive(channel, payload ?? ''))
    await client.connect()
    ;(client as Client & Unreferenced).unref()
    // What is live must not wait for the disk.
    if (!(await this.#query(client, { text: 'SET synchronous_commit = off' })))
      throw new Error('the server did not answer')
    return client
  }

  #listen(client: Client, name: string | null): Promise<boolean> {
    return this.#query(client, { text: `LISTEN "${this.#channel(name)}"` })
  }

  async #checkConnection(): Promise<void> {
    const client = this.#client
    if (client) await this.#query(client, { text: 'SELECT 1' })
  }

  /** One query at a time, as `pg` requires. False when it failed, and then the connection is closed: an answer may still come. */
  #query(client: Client, config: QueryConfig): Promise<boolean> {
    const result = this.#lastQuery.then(async () => {
      try {
        await client.query(withTimeout(config, Math.min(sendWithinMs, this.#options.answerTimeoutMs)))
        return true
      } catch {
        socketOf(client)?.destroy()
        return false
      }
    })
    this.#lastQuery = result
    return result
  }

  #channel(name: string | null): string {
    return name === null ? this.#base : `${this.#base}_${name}`
  }

  #receive(channel: string, payload: string): void {
    const message = this.#whole.take(payload)
    if (!message) return
    for (const [name, receiver] of this.#joined) {
      const isFor = channel === this.#channel(null) ? name !== message.from : channel === this.#channel(name)
      if (isFor) receiver.message(message.from, message.text)
    }
  }
}

/** NOTIFY takes less than 8,000 bytes. */
const payloadBytes = 7_900
const mostParts = Math.ceil(maxTextBytes / (payloadBytes - 4)) + 1

/** A text as payloads, each with its sender and its place among them. */
function payloadsOf(from: string, count: number, text: string): string[] {
  const bytes = Buffer.from(text)
  const parts: string[] = []
  for (let start = 0; start < bytes.byteLength; ) {
    let end = Math.min(start + payloadBytes, bytes.byteLength)
    // Not inside a character.
    while (end < bytes.byteLength && (bytes[end]! & 0xc0) === 0x80) end -= 1
    parts.push(bytes.toString('utf8', start, end))
    start = end
  }
  return parts.map((part, index) => `${from}.${count.toString(36)}.${index + 1}.${parts.length}\n${part}`)
}

const header = /^([0-9a-f]{16})\.([0-9a-z]{1,11})\.([1-9]\d?)\.([1-9]\d?)\n/
/** Senders whose texts are put together at once. */
const mostSenders = 256

/** Puts texts together. The parts of one text come one after the other. Any client may notify, so payloads that are not part of a text are ignored. */
class Whole {
  readonly #texts = new Map<string, { readonly count: string; readonly parts: string[] }>()

  take(payload: string): { readonly from: string; readonly text: string } | null {
    const match = header.exec(payload)
    if (!match) return null
    const [{ length }, from, count] = [match[0], match[1]!, match[2]!]
    const [part, of] = [Number(match[3]), Number(match[4])]
    const text = payload.slice(length)
    if (part > of || of > mostParts) return null
    if (of === 1) return { from, text }
    const known = this.#texts.get(from)
    if (part === 1) {
      if (!known && this.#texts.size >= mostSenders) this.#texts.clear()
      this.#texts.set(from, { count, parts: [text] })
      return null
    }
    if (known?.count !== count || known.parts.length !== part - 1) return null
    known.parts.push(text)
    if (part < of) return null
    this.#texts.delete(from)
    return { from, text: known.parts.join('') }
  }
}
