import type { Json } from '../base/json.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import type { FsmState } from '../log/fsm-state.ts'
import type { ClaimOptions } from './claim.ts'
import type { ConversationAttrs } from './conversation-record.ts'
import type { FinalStatus, ToolCallWrite } from './tool-call.ts'

/**
 * One transaction on one conversation. Checks run in this order: key, epoch, expectedSeq with expectedAt and expectedAgent, resolve.
 * Events that say what the owner of the log did (all but `user_msg`, `resolution`, `cancel_requested`, `titled`, `seeded`, `flow_started` and
 * `flow_outcome`) need its `epoch` while a lease is live, or a call is pending that the change does not end: without one they are refused with `OwnerOnlyError`.
 * A change without `epoch` that carries a `user_msg`, `seeded` or `flow_started` creates the conversation where there is none.
 */
export type Change = {
  readonly events: readonly NewEvent[]
  /** The last seq the change was decided on. */
  readonly expectedSeq?: number
  /** The time of the event at `expectedSeq`: tells the log from a later one of the same name that is as long. Refused as `seq`. */
  readonly expectedAt?: number
  /** The agent it was decided on that the conversation has: somebody may have given it to another without a trace in its log. Refused as `seq`. */
  readonly expectedAgent?: string
  /** The lease the change was decided under. */
  readonly epoch?: number
  /** Makes the change happen once: a known key returns its first seq, and nothing is written. */
  readonly key?: string
  /**
   * Its key where it has none: nobody asks for it but the store itself, which may send a change again whose acknowledgement was lost. A store
   * that never does leaves it out.
   */
  readonly resendKey?: string
  /** What the key stands for. The same key with another digest is `KeyReusedError`. */
  readonly digest?: string
  /** Call rows to write; each may carry `expiresInMs`, and the store's clock sets the deadline. */
  readonly calls?: readonly ToolCallWrite[]
  /** Guards, and the rows they end. The caller puts the `resolution` events in `events`. */
  readonly resolve?: readonly ResolveCall[]
  readonly fsmState?: FsmState
  /** Default: now when an event wakes, otherwise as it was. */
  readonly wakeAt?: 'now' | { readonly inMs: number } | null
  /** Only with `epoch`: nobody else's lease is given back. */
  readonly lease?: 'release'
  /**
   * Takes the lease in the same transaction, when nobody has it; the result then has its `epoch`. A change that is known by its key takes none; it has the
   * epoch of the first time, and the lease is renewed, as long as that lease is still this holder's. So it can be repeated when its answer was lost.
   */
  readonly acquire?: { readonly holder: string; readonly ttlMs: number } & ClaimOptions
  /** Upserted like `putConversation`, in the same transaction. */
  readonly conversation?: ConversationAttrs
}

/** Ends the round of a pending call; refused as `stale` when it has ended. */
export type ResolveCall = {
  readonly callId: string
  readonly round: number
  readonly status: FinalStatus
  readonly result: Json
}

/** How a commit went. Nothing was written unless it is `ok`; a conflict is ordinary: read what was missed and settle again. */
export type CommitResult =
  /**
   * `seq`: of the commit's last event; the log's last where it had none. `at`: the time of the commit and of its events, by the
   * store's clock, where the store tells; not for a change that was known by its key.
   */
  | { readonly ok: true; readonly seq: number; readonly at?: number; readonly epoch?: number }
  | {
      readonly ok: false
      readonly conflict: 'seq' | 'epoch' | 'stale'
      readonly lastSeq: number
      /** The resolution that a stale one lost to. */
      readonly winner?: LogEvent
    }
