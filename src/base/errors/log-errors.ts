import { PerdureError, packageVersion } from './perdure-error.ts'

/** Where an event is; a new one has only its type. */
type Place = { readonly conversationId?: string; readonly seq?: number; readonly type: string }

/** An event that this version does not know. */
export type UnknownEvent = {
  readonly seq: number
  readonly type: string
  /** The version that brought its type, where the event says so in `content.since`; null: a later one than this. */
  readonly needs: string | null
}

/** The log holds an event of a type this version does not know: a later version wrote it. Nothing is decided past it. */
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

/** An event does not have the shape of its type, or does not fit the log before it. */
export class EventInvalidError extends PerdureError {
  constructor({ conversationId, seq, type }: Place, problem: string) {
    super(
      'event_invalid',
      seq === undefined
        ? `An event of type '${type}' is not valid: ${problem}. Correct what builds it; nothing was written.`
        : `Event ${seq} (${type}) of '${conversationId}' cannot be folded: ${problem}. Find what wrote it; the log before it is intact.`,
    )
  }
}

/** A value that JSON cannot hold. `path` says where, as in `content.args.amount`. */
export class InvalidValueError extends PerdureError {
  readonly path: string

  constructor(path: string, problem: string) {
    super('invalid_value', `The value at '${path}' cannot be stored: ${problem}. Pass plain JSON.`)
    this.path = path
  }
}

/** An event has more than 1 MiB. Nothing was written. */
export class EventTooLargeError extends PerdureError {
  constructor(type: string, bytes: number, limit: number) {
    super(
      'event_too_large',
      `An event of type '${type}' has ${bytes} bytes; the limit is ${limit}. Put the large part into a blob and keep its ref in the event.`,
    )
  }
}
