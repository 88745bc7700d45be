import type { Json, JsonObject } from '../../base/json.ts'
import type { SuspensionKind, TurnStatus } from '../../log/events.ts'
import type { PendingItem } from '../../view/view.ts'
import type { FinishReason, ThingChunk } from './ui-chunk.ts'

/** What a UI message is to show of one turn: a step for each message of the model. Plain data, and a function of the view alone. */
export type UiTurn = {
  /** Also the id of the UI message. */
  readonly turnId: string
  readonly steps: readonly UiStep[]
  /** How many steps before these are not shown, because the turn is long. */
  readonly stepsBefore: number
  readonly standing: Standing
  /** The latest progress of each call that runs. */
  readonly progress: { readonly [callId: string]: Json }
  /** What child agents wait for; it is in their logs, not in this one. */
  readonly elsewhere: readonly PendingItem[]
}

/** `reason` of a failed turn is only its code: the rest may name what a page must not know. */
export type Standing = {
  readonly status: 'running' | 'waiting' | TurnStatus
  readonly reason: string | null
  readonly finishReason: FinishReason
}

export type UiStep = {
  readonly messageId: string
  readonly parts: readonly UiPart[]
  /** Only the beginnings of what is long in it are here: a page that shows all of it may keep that. */
  readonly isAbridged?: boolean
}

/** `key` is unique in its step, and the same before and after the message is committed. */
export type UiPart = UiText | UiCall | UiThing | UiQuestion

export type UiText = {
  readonly kind: 'text' | 'reasoning'
  readonly key: string
  readonly text: string
  readonly isDone: boolean
  readonly providerMetadata?: JsonObject
}

export type UiThing = { readonly kind: 'thing'; readonly key: string; readonly chunk: ThingChunk }

/** Something that is asked with a form. */
export type UiQuestion = { readonly kind: 'question'; readonly key: string; readonly data: Question }

export type Question = JsonObject & {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly status: 'open' | 'resolved' | 'denied' | 'expired' | 'cancelled'
}

export type UiCall = {
  readonly kind: 'call'
  /** The call's id. */
  readonly key: string
  readonly name: string
  readonly input: Json
  readonly stage: CallStage
  /** The newest approval it was asked for. */
  readonly approval: UiApproval | null
  /** Whether the page may run it or fill it in at some time; then its input is only made available when that time has come. */
  readonly isForPage: boolean
  readonly isProviderRun: boolean
  readonly providerMetadata?: JsonObject
}

/**
 * `writing`: its input comes in. `held`: nobody is to act on it now. `ready`: it runs. `awaited`: somebody else is to run it or to answer. `asked`:
 * somebody is to approve it. `refused`: the model wrote it and it was never made.
 */
export type CallStage =
  | { readonly type: 'writing'; readonly text: string }
  | { readonly type: 'held' | 'ready' | 'awaited' | 'asked' | 'denied' }
  | { readonly type: 'output'; readonly output: Json }
  | { readonly type: 'error' | 'refused'; readonly errorText: string }

/** `approved` is null until somebody has answered, and when nobody did in time. */
export type UiApproval = { readonly id: string; readonly approved: boolean | null; readonly reason?: string }
