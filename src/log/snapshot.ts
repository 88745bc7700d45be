import type { Json, JsonObject } from '../base/json.ts'
import type { BlobRef } from './blob-ref.ts'
import type { Executor, IfInterrupted, InterruptedEnd, SuspensionKind, TurnOptions, TurnStatus } from './events.ts'
import type { ConversationPhase } from './fsm-state.ts'

export const snapshotVersion = 3

/** A conversation at one moment, in a form that can be stored anywhere: plain JSON, without scope, and without ids of people other than the owner. */
export type Snapshot = {
  readonly version: typeof snapshotVersion
  /** The last event of the log it was taken from. Of two snapshots of one conversation, the one with the higher `seq` is newer. */
  readonly seq: number
  readonly phase: ConversationPhase
  readonly title: string | null
  /**
   * Who opened the conversation; null where that is not known. Always there in what `persistState` gets. A conversation that is restored belongs to this person; without
   * the member, to the caller that restores it.
   */
  readonly owner?: string | null
  /** Replaces the messages before those listed; null when there is no summary. */
  readonly summary: string | null
  /** The turns of the messages, in their order. */
  readonly turns: readonly SnapshotTurn[]
  /** The newest messages, up to 4 MiB: whole turns, each in the order that the model read it. */
  readonly messages: readonly SnapshotMessage[]
  /** The application's own state of the conversation, where there is one. */
  readonly data?: JsonObject
}

/** A turn in a snapshot. */
export type SnapshotTurn = {
  readonly turnId: string
  /** `open`: it had not ended. `queued`: it had not begun. */
  readonly status: TurnStatus | 'open' | 'queued'
  readonly reason: string | null
  /** Only of a turn that has not ended. */
  readonly options?: TurnOptions
  /** Set if the turn replaced others: what their tools did. Their words are not in a snapshot. */
  readonly replaced?: readonly SnapshotCall[]
}

/** A message in a snapshot. */
export type SnapshotMessage = {
  readonly role: 'user' | 'assistant'
  readonly turnId: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Empty when the message is withheld. */
  readonly parts: readonly SnapshotPart[]
  /** Set when the message was cut off: its turn was cancelled, or the model failed. */
  readonly cutOff?: 'cancelled' | 'failed'
  /** Set when the model was not done, although the message is whole: `length`, `content-filter`, or what the provider says. */
  readonly finishReason?: string
  /** The structured output. */
  readonly object?: Json
  /** JSON that came with a message of a person. */
  readonly data?: Json
  /** The hook that did not pass the message. */
  readonly withheld?: string
}

/** A part of a message in a snapshot. */
export type SnapshotPart = { readonly type: 'text'; readonly text: string } | SnapshotFile | SnapshotCall

/** A file in a snapshot. It has a `url`, or a `blob`, and `data` while all files of the snapshot fit into 2 MiB, the newest first. */
export type SnapshotFile = {
  readonly type: 'file'
  readonly mediaType: string
  readonly filename: string | null
  /** Where the bytes are in the store that the snapshot was taken from. */
  readonly blob?: BlobRef
  /** The bytes, in base64. */
  readonly data?: string
  readonly url?: string
}

/** A call in a snapshot. It is never run again; one that is `pending` can be answered again. */
export type SnapshotCall = {
  readonly type: 'call'
  readonly callId: string
  readonly name: string
  /** With the changes that a person made. */
  readonly args: Json
  readonly executor: Executor
  /** `pending`: it waits for an answer. `open`: it runs, will run, or waits for a child agent. */
  readonly status: 'ok' | 'error' | 'pending' | 'open'
  /** What the call returned, or the text of its error; null before its end. */
  readonly result: Json
  readonly outcome?: InterruptedEnd
  readonly userFacing?: true
  /**
   * What its tool says of a run that was interrupted, when the call was started, also in a page or by a child agent, or had not ended and may have been started
   * since. Null: it never was. Missing in snapshots of earlier releases; a call that may have been started then counts as one that must not be repeated.
   */
  readonly started?: IfInterrupted | null
  /** Set when the call ends its turn once the calls beside it have ended: the reason. */
  readonly halts?: string
  /** Only while `status` is `pending`. */
  readonly pending?: SnapshotPending
}

/** What a pending call waits for, and how it continues. */
export type SnapshotPending = {
  readonly kind: Exclude<SuspensionKind, 'sub_agent'>
  readonly prompt: Json
  /** Milliseconds since 1970; null: it waits forever. */
  readonly expiresAt: number | null
  readonly ifInterrupted: IfInterrupted
  readonly timeoutMs: number | null
  readonly expiresInMs: number | null
  /** JSON Schema of the tool's answer, for executors that answer. */
  readonly schema?: Json
}
