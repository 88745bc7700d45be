import type { RemoteFlowStatus } from '../client/flow.ts'
import type { LogEvent } from '../log/events.ts'
import { keepIdentity } from './keep-identity.ts'
import type { Change, Link } from './link.ts'
import { type LiveStatus, LiveStore } from './live-store.ts'
import { Rereading } from './rereading.ts'

/** What a page knows of a session. */
export type SessionSnapshot = {
  /** Null until it has been read. */
  readonly session: RemoteFlowStatus | null
  /** Its log, from the first event. */
  readonly events: readonly LogEvent[]
  readonly status: LiveStatus
  readonly error: unknown
}

export const noSession: SessionSnapshot = { session: null, events: [], status: 'loading', error: null }

/** How many events one request reads. */
const pageSize = 1_000

/** One session, shared by all components that show it. Read again whenever it has changed. */
export class SessionStore {
  readonly flow: string
  readonly id: string
  readonly live: LiveStore<SessionSnapshot>
  readonly #link: Link
  readonly #rereading: Rereading<SessionSnapshot>
  #isReading = false
  #isStale = false

  constructor(link: Link, flow: string, id: string) {
    this.flow = flow
    this.id = id
    this.#link = link
    this.live = new LiveStore(link.tab, noSession, () =>
      this.#rereading.follow(link, (change) => {
        if (this.#isAbout(change)) void this.#readAll()
      }),
    )
    this.#rereading = new Rereading(this.live, () => void this.#readAll())
  }

  /** Reads it again, and connects again where the server has refused. */
  readonly reload = (): Promise<void> => {
    this.#link.retry()
    return this.#readAll()
  }

  /** One request at a time; another follows if the session has changed since. */
  async #readAll(): Promise<void> {
    this.#isStale = true
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#isStale) {
        this.#isStale = false
        await this.#read()
      }
    } catch (error) {
      this.#rereading.failed(error)
    } finally {
      this.#isReading = false
    }
  }

  /** The session was deleted here. */
  setGone(): void {
    this.live.set({ ...this.live.value, status: 'gone' })
  }

  #isAbout(change: Change): boolean {
    if (change.type === 'reset') return true
    if (change.type === 'gone') return change.id === this.id
    return change.type === 'session' && change.session.id === this.id
  }

  async #read(): Promise<void> {
    const handle = this.#link.client.flow(this.flow, this.id)
    const session = keepIdentity(this.live.value.session, await handle.status())
    let { events } = this.live.value
    for (;;) {
      const after = events.at(-1)?.seq ?? 0
      const found = await handle.events({ after, limit: pageSize })
      if (found.length > 0) events = [...events, ...found]
      if (found.length < pageSize) break
    }
    this.#rereading.succeeded()
    this.live.set({ session, events, status: 'live', error: null })
  }
}
