import { createHash } from 'node:crypto'
import type { Json } from '../base/json.ts'
import type { FlowOp, LogEvent } from './events.ts'

/** An operation of a flow that waits for an answer. */
export type QuestionOp = Extract<FlowOp, { kind: 'suspend' | 'request' }>

/** Something that a session asked, and how that ended; null while it waits. `seq` names it: each is answered at most once. */
export type FlowQuestion = {
  readonly seq: number
  readonly at: number
  readonly op: QuestionOp
  readonly end: { readonly status: 'resolved' | 'cancelled'; readonly value: Json; readonly at: number } | null
}

export function isQuestion(op: FlowOp): op is QuestionOp {
  return op.kind === 'suspend' || op.kind === 'request'
}

/** What a suspended session shows as its tag. */
export function tagOf(op: QuestionOp): Json {
  return op.kind === 'suspend' ? op.tag : { type: 'request', kind: op.request, payload: op.payload }
}

/** JSON Schema of the answer; null: anything. */
export function schemaOf(op: QuestionOp): Json {
  return op.kind === 'suspend' ? (op.schema ?? null) : null
}

/**
 * Follows the log of a session and lists its open questions. A fresh record and the end of a session cancel what is still open. Ignores what the fold of a session
 * ignores.
 */
export class FlowQuestions {
  readonly #open = new Map<number, FlowQuestion>()
  #opened = 0
  #hasEnded = false

  /** The questions that this event asked or ended. */
  event(event: LogEvent): FlowQuestion[] {
    if (this.#hasEnded) return []
    switch (event.type) {
      case 'flow_opened': {
        const { position, op } = event.content
        if (position !== this.#opened + 1) return []
        this.#opened = position
        if (!isQuestion(op)) return []
        const asked: FlowQuestion = { seq: event.seq, at: event.at, op, end: null }
        this.#open.set(position, asked)
        return [asked]
      }
      case 'flow_outcome': {
        const { position, ok } = event.content
        const question = this.#open.get(position)
        this.#open.delete(position)
        if (!question) return []
        return [{ ...question, end: { status: 'resolved', value: ok ? event.content.value : null, at: event.at } }]
      }
      case 'flow_continued':
      case 'flow_ended': {
        const left = this.open()
        this.#open.clear()
        this.#opened = 0
        this.#hasEnded = event.type === 'flow_ended'
        return left.map((question) => ({ ...question, end: { status: 'cancelled', value: null, at: event.at } }))
      }
      default:
        return []
    }
  }

  /** Those that wait for an answer, in the order they were asked. */
  open(): FlowQuestion[] {
    return [...this.#open.values()]
  }
}

/** What fits into an id beside the rest of it. */
const maxSessionBytes = 200

/** The id of the row of a question: see `flowCall`. It follows from the session and the `seq`, so the rows of a fork have ids of their own. */
export function flowCallId(session: string, seq: number): string {
  return `flow:${shortName(session)}:${seq}`
}

/** The `seq` in the id of a question's row; null for the id of anything else. */
export function seqOfFlowCall(session: string, callId: string): number | null {
  const seq = Number(callId.slice(callId.lastIndexOf(':') + 1))
  return Number.isSafeInteger(seq) && callId === flowCallId(session, seq) ? seq : null
}

/** The id of a session, or a digest of it where it is long, to make other ids from. */
export function shortName(session: string): string {
  const isLong = Buffer.byteLength(session) > maxSessionBytes
  return isLong ? createHash('sha256').update(session).digest('hex') : session
}
