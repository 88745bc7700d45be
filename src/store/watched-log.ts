import type { ConversationStatus } from '../log/fsm-state.ts'
import type { ConversationRef } from './conversation-record.ts'

/** A log as its watcher knows it: up to `seq`, whose event has the time `at`. 0: it was not there. */
export type WatchedLog = ConversationRef & {
  readonly seq: number
  /** Null: not known. With the seq it tells a log from a later one of the same name. */
  readonly at: number | null
  /** How it stood in lists, and it was not quarantined. Null: that does not matter. */
  readonly status: ConversationStatus | null
}

/** How many logs a driver is asked about at once, at most. */
export const logsPerStatement = 1_000
