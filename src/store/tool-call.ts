import type { Json } from '../base/json.ts'
import type { Executor, SuspensionKind } from '../log/events.ts'

/** The row of a call that has suspended: a cache over the log that makes inboxes and deadlines one query. Describes the latest round. */
export type ToolCall = {
  readonly id: string
  readonly conversationId: string
  readonly name: string
  readonly executor: Executor
  readonly status: 'pending' | FinalStatus
  readonly args: Json
  readonly result: Json
  readonly round: number
  readonly kind: SuspensionKind
  readonly prompt: Json
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly resolvedAt: number | null
}

/** How a call row ends. */
export type FinalStatus = 'resolved' | 'errored' | 'denied' | 'expired' | 'cancelled'

/** What an upsert gives. Defaults: status pending, round 1, kind approval, executor server, everything else null or empty. */
export type ToolCallWrite = {
  readonly id: string
  readonly name?: string
  readonly executor?: Executor
  readonly status?: ToolCall['status']
  readonly args?: Json
  readonly result?: Json
  readonly round?: number
  readonly kind?: SuspensionKind
  readonly prompt?: Json
  readonly expiresInMs?: number | null
}

/** A row of the inbox, with the agent it belongs to. */
export type PendingCall = ToolCall & {
  readonly agent: string | null
  readonly title: string | null
  /** Only while its conversation is quarantined: an answer is taken, and nothing goes on until a person releases it. */
  readonly quarantinedAt?: number
}
