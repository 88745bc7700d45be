import { EventUnknownError, type UnknownEvent } from '../base/errors/log-errors.ts'
import type { LogEvent } from './events.ts'
import { isKnownType } from './validate-event.ts'

/** The events before the first of a type that this version does not know: what a reader is shown of a log that a later version has written to. */
export function knownPart(events: readonly LogEvent[]): {
  readonly known: readonly LogEvent[]
  readonly unknownEvent: UnknownEvent | null
} {
  const index = events.findIndex(({ type }) => !isKnownType(type))
  const unknown = events[index]
  if (!unknown) return { known: events, unknownEvent: null }
  return { known: events.slice(0, index), unknownEvent: new EventUnknownError(unknown).unknownEvent }
}
