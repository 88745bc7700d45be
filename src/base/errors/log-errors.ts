import { PerdureError, packageVersion } from './perdure-error.ts'

/** Where an event is. A new event has only its type. */
type Place = { readonly conversationId?: string; readonly seq?: number; readonly type: string }

/** An event that this version does not know. */
export type UnknownEvent = {
  readonly seq: number
  readonly type: string
  /**
   * The version that introduced its type, if the event says so in `content.since`. Null: unknown, but later than this
   * version.
   */
  readonly needs: string | null
}

/**
 * The log contains an event type that this version does not know, because a later version wrote it. Nothing after it is
 * interpreted.
 */
export class EventUnknownError extends PerdureError {
  readonly unknownEvent: UnknownEvent

  constructor({ conversationId, seq, type, content }: Place & { readonly content?: unknown }) {
    const event = seq === undefined ? 'An event' : `Event ${seq} of '${conversationId}'`
    const needs = sinceIn(content)
    super(
      'event_unknown',
      `${event} has the type '${type}', which perdure ${packageVersion} does not know. Upgrade perdure on this node to ${needs ?? 'the version that wrote it'} or later.`,
    )
    this.unknownEvent = { seq: seq ?? 0, type, needs }
  }
}

function sinceIn(content: unknown): string | null {
  const { since } = (typeof content === 'object' && content !== null ? content : {}) as { since?: unknown }
  return typeof since === 'string' && /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(since) ? since : null
}

/** An event does not match the schema of its type, or does not fit the log before it. */
export class EventInvalidError extends PerdureError {
  constructor({ conversationId, seq, type }: Place, problem: string) {
    super(
      'event_invalid',
      seq === undefined
        ? `An event of type '${type}' is not valid: ${problem}. Nothing was written. Correct the code that builds it.`
        : `Event ${seq} (${type}) of '${conversationId}' cannot be folded: ${problem}. The log before it is intact. Find the code that wrote it.`,
    )
  }
}

/** A value that JSON cannot represent. `path` says where, such as `content.args.amount`. */
export class InvalidValueError extends PerdureError {
  readonly path: string

  constructor(path: string, problem: string) {
    super('invalid_value', `The value at '${path}' cannot be stored: ${problem}. Pass plain JSON.`)
    this.path = path
  }
}

/** An event is larger than 1 MiB, or a note larger than 64 KiB. Nothing was written. */
export class EventTooLargeError extends PerdureError {
  constructor(type: string, bytes: number, limit: number) {
    super(
      'event_too_large',
      `An event of type '${type}' has ${bytes} bytes; the limit is ${limit}. Put the large part into a blob and keep its ref in the event.`,
    )
  }
}
