import type { Logger } from '../base/logger.ts'
import { checkTraceparent, isTraceparent } from '../base/traceparent.ts'
import type { LogEvent } from '../log/events.ts'
import type { AttemptReport } from '../model/call-model.ts'
import type { ConversationRef } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'

/**
 * Told of what this process does, as it does it: at most once, and only here. What must reach a receiver is for subscribers. `perdure/telemetry` makes spans
 * and metrics of it.
 */
export type Observer = {
  /** Must return at once. What it throws is logged, and changes nothing. */
  observe(observation: Observation): void
  /**
   * The `traceparent` that is recorded with a message or a session, if any. `given`: that of the caller. Must return at once. Default: the caller's.
   */
  traceparent?(
    given: string | undefined,
    to: { readonly kind: 'agent' | 'flow'; readonly name: string },
  ): string | undefined
}

/** Something that this process did. `ref` names the conversation or session. */
export type Observation =
  /** A commit of the lease holder, with the place and time of each event. `name`: of the agent or flow. */
  | {
      readonly type: 'committed'
      readonly ref: ConversationRef
      readonly name: string
      readonly events: readonly LogEvent[]
    }
  | Rested
  /** An attempt at a model call has ended. `turnRef` begins with the id of the turn; a summary's with `summary/`, a title's with `title/`. */
  | {
      readonly type: 'model_attempted'
      readonly ref: ConversationRef
      readonly name: string
      readonly turnRef: string
      readonly attempt: AttemptReport
    }
  /** This process begins with a turn: `waitedMs` after its message, by the clocks of the store and of this process. */
  | {
      readonly type: 'turn_begun'
      readonly ref: ConversationRef
      readonly name: string
      readonly turnId: string
      readonly waitedMs: number
    }
  /** Another process has the conversation or session now, or it was deleted. */
  | { readonly type: 'lease_lost'; readonly ref: ConversationRef }

/** A turn or a session has ended, or waits while nothing runs for it. Observed after what was committed before it. */
export type Rested = {
  readonly type: 'rested'
  readonly ref: ConversationRef
  /** Of the agent or flow. */
  readonly name: string
  /** Null for a session. */
  readonly turnId: string | null
  /** Where its events begin and end in the log. */
  readonly firstSeq: number
  readonly lastSeq: number
  /** The end of the log when this process took it up: what was before its last rest has been observed. */
  readonly heldFrom: number
  /** To read those events from, after the observer has returned. */
  readonly store: Pick<TenantStore, 'streamEvents' | 'modelCalls' | 'getConversation'>
}

/** One observer of several, none of which can fail what is observed. Null where there are none, so that nothing is put together for it. */
export function observerOf(given: Observer | readonly Observer[] | undefined, logger: Logger): Observer | null {
  const observers = given === undefined ? [] : 'observe' in given ? [given] : given
  if (observers.length === 0) return null
  const guarded = <T>(ask: () => T): T | undefined => {
    try {
      return ask()
    } catch (error) {
      logger.warn('an observer threw', { error })
      return undefined
    }
  }
  return {
    observe: (observation) => {
      for (const observer of observers) guarded(() => observer.observe(observation))
    },
    traceparent: (given, to) => {
      let traceparent = given
      for (const observer of observers) {
        const named = guarded(() => observer.traceparent?.(traceparent, to))
        if (isTraceparent(named)) traceparent = named
      }
      return traceparent
    },
  }
}

type Traced = { readonly traceparent?: string }

/** The trace that a message or a session is recorded with. Throws `InvalidArgumentError` for a `traceparent` that names none. */
export function traceOf(
  { observer }: { readonly observer: Observer | null },
  given: string | undefined,
  to: Parameters<NonNullable<Observer['traceparent']>>[1],
): Traced {
  checkTraceparent(given)
  const traceparent = observer ? observer.traceparent?.(given, to) : given
  return traceparent === undefined ? {} : { traceparent }
}

/** The trace of the message or session that begins at this place: what it starts elsewhere belongs to it too. */
export async function traceAt(store: Pick<TenantStore, 'streamEvents'>, id: string, seq: number): Promise<Traced> {
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  const given = event?.type === 'user_msg' || event?.type === 'flow_started' ? event.content.traceparent : undefined
  return isTraceparent(given) ? { traceparent: given } : {}
}
