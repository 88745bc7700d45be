import type { Json } from '../../../src/base/json.ts'
import type { Answered } from '../../../src/runtime/answer-call.ts'
import type { BulkJob } from '../../../src/runtime/bulk/bulk-request.ts'
import type { Pause, PauseTarget } from '../../../src/store/steering.ts'

/** All that people and tools heard and did during a run. What the log says is compared with it. */
export type History = {
  readonly sends: Sent[]
  readonly answers: Given[]
  readonly ends: ToldEnd[]
  readonly sessions: Session[]
  readonly runs: Run[]
  /** When the model was called for which message. */
  readonly calls: { readonly conversation: string; readonly key: string; readonly at: number }[]
  readonly pauses: ToldPause[]
  /** The bulk jobs that operators were told have begun. */
  readonly jobs: Pick<BulkJob, 'id' | 'action'>[]
  readonly readings: Reading[]
  /** What each watcher was shown of a log, as `seq type at`. */
  readonly watched: { readonly conversation: string; readonly seen: string[] }[]
  /** The nodes that the poison ended, one for each time. */
  readonly poisoned: string[]
  /** Whether people were told that the poison is quarantined, and could cancel and release it then. */
  quarantine: 'none' | 'told' | 'released'
  /** What was told of something that had been acknowledged, and cannot be. */
  readonly denials: string[]
}

/** `id`: of the act that paused. `at`: when the operator was told, by the machine's clock. */
export type ToldPause = { readonly id: Pause['id']; readonly target: PauseTarget; readonly at: number }

/** What a watcher at `node` was shown of a text that is written in a conversation, change after change. */
export type Reading = {
  readonly conversation: string
  readonly node: string
  readonly shown: { readonly drafts: readonly string[]; readonly messages: readonly string[] }[]
  /** The turn ended before its eyes. */
  isWhole: boolean
}

/** A message, and what its sender was told: nothing, where every acknowledgement was lost. */
export type Sent = { readonly conversation: string; readonly key: string; readonly told: string[] }

/** What one person said to one round of a call, and what they heard; more than once, where they asked again. */
export type Given = {
  readonly conversation: string
  readonly callId: string
  readonly round: number
  readonly who: string
  readonly verb: 'approve' | 'deny' | 'answer'
  readonly value: Json
  readonly told: Answered[]
}

/** How a turn ended, as a client was told. `text`: null, where they were not told it. */
export type ToldEnd = {
  readonly conversation: string
  readonly turnId: string
  readonly status: string
  readonly text: string | null
}

export type Session = {
  readonly id: string
  isStarted: boolean
  /** What it was resumed with; null until then. */
  resumedWith: string | null
  isResumed: boolean
  /** Its outcome, as a client was told. */
  end: Json
}

/** A tool or a step that began. `at`: by the machine's clock, which is the database's. */
export type Run = { readonly tool: string; readonly id: string; readonly at: number; readonly node: string }

export function emptyHistory(): History {
  return {
    sends: [],
    answers: [],
    ends: [],
    sessions: [],
    runs: [],
    calls: [],
    pauses: [],
    jobs: [],
    readings: [],
    watched: [],
    poisoned: [],
    quarantine: 'none',
    denials: [],
  }
}
