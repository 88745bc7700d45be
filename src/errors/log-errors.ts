import { PerdureError } from './perdure-error.ts'

/** Where an event is; a new one has only its type. */
type Place = { readonly conversationId?: string; readonly seq?: number; readonly type: string }

/** The log holds an event this version does not know: written by a newer one, or by a flow in a conversation's log. */
export class EventUnknownError extends PerdureError {
  constructor({ conversationId, seq, type }: Place) {
    const event = seq === undefined ? 'An event' : `Event ${seq} of '${conversationId}'`
    super(
      'event_unknown',
      `${event} has the type '${type}', which this version does not know. Upgrade perdure on this node.`,
    )
  }
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
