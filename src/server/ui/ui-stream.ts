import type { Json } from '../../base/json.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { View } from '../../view/view.ts'
import { followTurn, type TurnClient } from '../live/follow-turn.ts'
import type { Subscription } from '../live/subscription.ts'
import type { RouteCall } from '../route.ts'
import { type ClientMessage, type ClientPart, type ClientToolPart, toolPart } from './client-message.ts'
import type { CallStage, UiCall, UiChunk, UiPart, UiStep, UiTurn } from './ui-turn.ts'
import { doneFrame, framesOf, type UiFrame } from './ui-turns.ts'

export type Streamed = {
  readonly conversation: Conversation
  readonly turnId: string
  /** The end of the log at the time of the request. Older views are not sent. */
  readonly seq: number
  /** What the client already shows of the turn. Null: nothing, so everything is sent. */
  readonly held: ClientMessage | null
  /** Sent first. Default: nothing. */
  readonly before?: readonly UiChunk[]
  /** Ends the stream once it shows the present, though the turn goes on. Default: false. */
  readonly isBrief?: boolean
}

/**
 * Streams a turn as UI message chunks until it ends or waits for input. The turn continues whether or not anyone reads
 * it.
 */
export async function uiStream(call: RouteCall, streamed: Streamed): Promise<Response> {
  const response = await followTurn(
    call,
    streamed,
    (subscription, isJudged) => new UiClient(call, streamed, subscription, isJudged),
  )
  for (const [name, value] of Object.entries(uiStreamHeaders)) response.headers.set(name, value)
  return response
}

export const uiStreamHeaders = { 'x-vercel-ai-ui-message-stream': 'v1' }

/** One client and the frames it has received. */
class UiClient implements TurnClient {
  readonly #call: RouteCall
  readonly #turnId: string
  readonly #tenant: string
  readonly #subscription: Subscription
  readonly #isV7: boolean
  /** Whether the client reconnects by itself when it is told to. */
  readonly #resumes: boolean
  readonly #isBrief: boolean
  readonly #isJudged: boolean
  #before: readonly UiChunk[]
  #isCaughtUp = false
  /** What the client says it shows, until the first frame is sent. */
  #held: ClientMessage | null
  #shown: UiTurn | null = null
  #isOver = false

  constructor(
    call: RouteCall,
    { conversation, turnId, held, before = [], isBrief = false }: Streamed,
    subscription: Subscription,
    isJudged: boolean,
  ) {
    this.#isJudged = isJudged
    this.#resumes = call.query['loss'] === 'resume'
    this.#isBrief = isBrief
    this.#before = before
    this.#call = call
    this.#tenant = call.verbs.inspect(conversation.id).ref.tenant
    this.#turnId = turnId
    this.#held = held
    this.#subscription = subscription
    this.#isV7 = call.query['chunks'] === 'v7'
  }

  /** A turn that cannot be encoded ends this client only, not the others on the same feed. */
  next(view: View): void {
    if (this.#isOver) return
    const { uiTurns, settings } = this.#call.server
    try {
      const turn = uiTurns.of(view, this.#turnId, this.#tenant)
      if (turn !== 'between') this.#send(this.#frame(turn))
    } catch (error) {
      settings.logger.error('a turn could not be encoded for a UI stream', {
        id: view.conversationId,
        turnId: this.#turnId,
        error,
      })
      this.#end(errorFrame('This turn cannot be shown. Read the log of the conversation.'))
    }
  }

  beat(frame: Uint8Array): void {
    this.#subscription.beat(frame)
  }

  end(): void {
    this.#end(this.#resumes ? resumeFrame : errorFrame('The server is closing. Resume to see the rest.'))
  }

  replaced(): void {
    if (this.#isJudged) this.lost()
  }

  /** The caller may not read the conversation any more. */
  lost(): void {
    this.#end(errorFrame('There is no such conversation.'))
  }

  #frame(turn: UiTurn | null): UiFrame {
    const { uiTurns } = this.#call.server
    const held = this.#held
    this.#held = null
    if (!held || !turn) return uiTurns.frame(this.#shown, turn, this.#isV7)
    const known = heldTurn(held, turn)
    // The client shows something wrong. Only a resumed stream can start over.
    return known ? uiTurns.ownFrame(known, turn, this.#isV7) : uiTurns.frame(null, null, this.#isV7)
  }

  #send({ bytes, shown, isOver }: UiFrame): void {
    this.#shown = shown
    const before = this.#before.length > 0 ? [framesOf(this.#before)] : []
    this.#before = []
    // Something was withdrawn that the client shows. What it shows is compared with the truth in another stream.
    if (isOver && !shown && this.#resumes) return this.#end(...before, resumeFrame)
    if (isOver) return this.#end(...before, bytes)
    const news = bytes.byteLength > 0 ? [...before, bytes] : before
    if (this.#isBrief) return this.#end(...news, briefFrame)
    if (this.#resumes && !this.#isCaughtUp) news.push(caughtUpFrame)
    if (news.length > 0) this.#subscription.push(...news)
    this.#isCaughtUp = true
  }

  /** In one call: what is sent at once may be larger than what may wait for a client. */
  #end(...frames: readonly Uint8Array[]): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription.push(...frames, doneFrame)
    this.#subscription.end()
  }
}

const resumeFrame = framesOf([{ type: 'resume' }])
const caughtUpFrame = framesOf([{ type: 'caught-up' }])
const briefFrame = framesOf([{ type: 'finish', finishReason: 'tool-calls', messageMetadata: { status: 'waiting' } }])

function errorFrame(errorText: string): Uint8Array {
  return framesOf([{ type: 'error', errorText }])
}

/**
 * What a page that continues a message shows of its turn, so that only the rest is sent. Includes the page's own claims
 * about calls, which later chunks correct. Null when something shown cannot be corrected: the page must start over.
 */
export function heldTurn({ parts }: ClientMessage, truth: UiTurn): UiTurn | null {
  const held = splitSteps(parts).slice(truth.stepsBefore)
  const steps = held.map((step, index) => heldStep(step, truth.steps[index], index === held.length - 1))
  if (steps.some((step) => step === null)) return null
  return { ...truth, steps: steps as UiStep[], progress: {}, childQuestions: [] }
}

function splitSteps(parts: readonly ClientPart[]): ClientPart[][] {
  const steps: ClientPart[][] = []
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  }
  return steps
}

/** Missing parts can be added only to the last step. */
function heldStep(held: readonly ClientPart[], truth: UiStep | undefined, isLast: boolean): UiStep | null {
  if (!truth) return null
  const left = [...held]
  const parts: UiPart[] = []
  for (const part of truth.parts) {
    const found = left.findIndex((candidate) => isSame(candidate, part, truth.isAbridged))
    if (found < 0 && !isLast && part.kind !== 'question') return null
    if (found < 0) continue
    const kept = heldPart(left.splice(found, 1)[0]!, part)
    if (!kept) return null
    parts.push(kept)
  }
  const isForeign = ({ type, text }: ClientPart) => (type === 'text' && text !== '') || type.startsWith('tool-')
  return left.some(isForeign) && !truth.isAbridged ? null : { ...truth, parts }
}

function isSame(held: ClientPart, { kind, key, ...part }: UiPart, isAbridged = false): boolean {
  switch (kind) {
    case 'text': {
      const { text } = part as { text: string }
      const isBeginning = isAbridged && String(held['text']).startsWith(text.slice(0, -1))
      return held.type === 'text' && (held['text'] === text || isBeginning)
    }
    case 'reasoning':
      return held.type === 'reasoning'
    case 'call':
      return toolPart(held)?.toolCallId === key
    case 'attachment':
      return held.type === (part as { chunk: { type: string } }).chunk.type
    case 'question':
      return held.type === 'data-question' && held['id'] === key
  }
}

function heldPart(held: ClientPart, part: UiPart): UiPart | null {
  // A part that is still being written cannot continue in another stream.
  if (part.kind === 'text' || part.kind === 'reasoning') return part.isDone ? part : null
  if (part.kind === 'question') return { ...part, data: { ...part.data, status: statusOf(held) } }
  return part.kind === 'call' ? claimed(toolPart(held)!, part) : part
}

function statusOf(held: ClientPart): 'open' | 'resolved' {
  return (Object(held['data']) as { status?: unknown }).status === 'open' ? 'open' : 'resolved'
}

function claimed(held: ClientToolPart, call: UiCall): UiCall | null {
  const stage = claimedStage(held, call)
  const input = held['input'] ?? null
  return stage && { ...call, stage, approval: held.approval, input }
}

function claimedStage({ state, output, errorText }: ClientToolPart, { stage, isForPage }: UiCall): CallStage | null {
  switch (state) {
    case 'input-available':
      return { type: stage.type === 'awaited' ? 'awaited' : 'ready' }
    case 'approval-responded':
      return { type: isForPage ? 'held' : 'ready' }
    case 'approval-requested':
      return { type: 'asked' }
    case 'output-denied':
      return { type: 'denied' }
    case 'output-available':
      return { type: 'output', output: (output ?? null) as Json }
    case 'output-error':
      return { type: 'error', errorText: typeof errorText === 'string' ? errorText : '' }
    default:
      return null
  }
}
