import type { Json } from '../base/json.ts'
import type { ConversationPhase } from './fsm-state.ts'

export const snapshotVersion = 2

/** A conversation at one moment, in a form that can be stored anywhere: plain JSON, without ids of people and without scope. */
export type Snapshot = {
  readonly version: typeof snapshotVersion
  /** The last event of the log it was taken from. Of two snapshots of one conversation, the one with the higher `seq` is newer. */
  readonly seq: number
  readonly state: ConversationPhase
  readonly title: string | null
  /** Replaces the messages before those listed; null when all messages are listed. */
  readonly summary: string | null
  readonly messages: readonly SnapshotMessage[]
}

/** A message in a snapshot. */
export type SnapshotMessage = {
  readonly role: 'user' | 'assistant'
  /** Milliseconds since 1970. */
  readonly at: number
  readonly parts: readonly SnapshotPart[]
}

/** A part of a message in a snapshot. A file has only its description. */
export type SnapshotPart =
  | { readonly type: 'text'; readonly text: string }
  /** What kind of file it was; the bytes are not kept. */
  | { readonly type: 'file'; readonly mediaType: string; readonly filename: string | null }
  | SnapshotCall

/** A call in a snapshot: history, never run again. */
export type SnapshotCall = {
  readonly type: 'call'
  readonly callId: string
  readonly name: string
  readonly args: Json
  /** `pending`: it waits for an answer. `open`: it runs, or will run. */
  readonly status: 'ok' | 'error' | 'pending' | 'open'
  /** What the call returned, or the text of its error; null before its end. */
  readonly result: Json
}
