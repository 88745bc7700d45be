import type { Json } from '../base/json.ts'
import type { ConversationPhase } from './fsm-state.ts'

export const snapshotVersion = 2

/** What a conversation is at one moment, in a form that can be kept anywhere: plain JSON, without ids of people and without scope. */
export type Snapshot = {
  readonly version: typeof snapshotVersion
  /** The last event of the log it was taken from: of two snapshots of one conversation, the one with more is the newer. */
  readonly seq: number
  readonly state: ConversationPhase
  readonly title: string | null
  /** Stands for the messages before those listed; null when all are. */
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

/** A part of a message in a snapshot; of files only what they are. */
export type SnapshotPart =
  | { readonly type: 'text'; readonly text: string }
  /** Only which kind of file there was. */
  | { readonly type: 'file'; readonly mediaType: string; readonly filename: string | null }
  | SnapshotCall

/** A call in a snapshot: history, never run again. */
export type SnapshotCall = {
  readonly type: 'call'
  readonly callId: string
  readonly name: string
  readonly args: Json
  /** `pending`: it waits for somebody. `open`: it runs, or will. */
  readonly status: 'ok' | 'error' | 'pending' | 'open'
  /** What it returned, or the text of the error; null before its end. */
  readonly result: Json
}
