import { isSameJson } from '../../base/json.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { View } from '../../view/view.ts'
import { followTurn, type TurnClient } from '../live/follow-turn.ts'
import type { Subscription } from '../live/subscription.ts'
import type { RouteCall } from '../route.ts'
import { failureText, lastingMetadata, standingMetadata } from '../ui/chunks-between.ts'
import type { UiTurn } from '../ui/ui-turn.ts'
import { type AgUiEvent, eventFrames, protocolVersion } from './ag-ui-event.ts'
import { clientCallsOf, type GivenAnswers, interruptsOf } from './interrupts.ts'
import type { ClaimedMessage } from './run-input.ts'
import { SentTurn } from './sent-turn.ts'
import { threadMessages } from './thread-messages.ts'

export type Run = {
  readonly conversation: Conversation
  readonly turnId: string
  readonly runId: string
  /** The end of the log at the time of the request. Older views are not sent. */
  readonly seq: number
  /** What the client says it shows. Empty: nothing, so it is sent the messages before the turn too. */
  readonly claimed: readonly ClaimedMessage[]
  readonly answers: GivenAnswers
}

/** Streams a turn as the events of one run, until it ends or waits. The turn continues whether or not anyone reads it. */
export async function agUiStream(call: RouteCall, run: Run): Promise<Response> {
  return followTurn(call, run, (subscription, isJudged) => new AgUiClient(call, run, subscription, isJudged))
}

const turnsInSnapshot = 50

class AgUiClient implements TurnClient {
  readonly #call: RouteCall
  readonly #subscription: Subscription
  readonly #isJudged: boolean
  readonly #threadId: string
  readonly #turnId: string
  readonly #runId: string
  readonly #tenant: string
  readonly #answers: GivenAnswers
  /** Until the first view. */
  #claimed: readonly ClaimedMessage[] | null
  #sent = new SentTurn()
  #state: View['state'] = null
  #isBegun = false
  #isReading = false
  #newest: View | null = null
  /** Sent as one frame: only a first frame may be larger than what may wait for a client. */
  #unsent: AgUiEvent[] = []
  #isOver = false

  constructor(call: RouteCall, run: Run, subscription: Subscription, isJudged: boolean) {
    this.#call = call
    this.#subscription = subscription
    this.#isJudged = isJudged
    this.#threadId = run.conversation.id
    this.#turnId = run.turnId
    this.#runId = run.runId
    this.#tenant = call.verbs.inspect(run.conversation.id).ref.tenant
    this.#answers = run.answers
    this.#claimed = run.claimed
  }

  /** A turn that cannot be encoded ends this client only, not the others on the same feed. */
  next(view: View): void {
    if (this.#isOver) return
    this.#newest = view
    if (this.#isReading) return
    try {
      this.#show(view)
    } catch (error) {
      this.#fail(error)
    }
    if (!this.#isReading) this.#send()
  }

  beat(frame: Uint8Array): void {
    this.#subscription.beat(frame)
  }

  end(): void {
    this.#end([runError('runtime_closed', 'The server is closing. Run again to see the rest.')])
  }

  replaced(): void {
    if (this.#isJudged) this.lost()
  }

  lost(): void {
    this.#end([runError('conversation_not_found', 'There is no such conversation.')])
  }

  #show(view: View): void {
    const turn = this.#call.server.uiTurns.of(view, this.#turnId, this.#tenant)
    if (turn === 'between') return
    if (!turn) return this.#end([runError('turn_not_found', 'This turn is gone. Run again to see the thread.')])
    this.#begin()
    const claimed = this.#claimed
    this.#claimed = null
    if (claimed && (claimed.length === 0 || !this.#sent.claim(claimed, turn))) return this.#startOver()
    const changes = this.#sent.advance(turn)
    if (!changes) return this.#startOver()
    const events = [...changes, ...this.#stateTo(view)]
    const last = this.#lastEvent(view, turn)
    if (last) this.#end([...events, ...this.#sent.close(), last])
    else this.#push(events)
  }

  #begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    const { threadId, runId } = this.#names()
    this.#push([{ type: 'RUN_STARTED', threadId, runId, protocolVersion }, ...this.#answers.late])
  }

  #stateTo({ state }: View): AgUiEvent[] {
    const before = this.#state
    this.#state = state
    if (state === null || (before !== null && isSameJson(before, state))) return []
    return [{ type: 'STATE_SNAPSHOT', snapshot: state }]
  }

  /** Null while the turn runs. */
  #lastEvent(view: View, turn: UiTurn): AgUiEvent | null {
    const { standing } = turn
    const metadata = { ...standingMetadata(standing), ...lastingMetadata(turn) }
    const finished = { type: 'RUN_FINISHED', ...this.#names(), metadata } as const
    switch (standing.status) {
      case 'running':
        return null
      case 'waiting': {
        const [interrupts, pendingToolCallIds] = [interruptsOf(view, this.#answers.answered), clientCallsOf(view)]
        if (interrupts.length > 0) return { ...finished, outcome: { type: 'interrupt', interrupts } }
        // Until it is known what a child agent asks, or that it has been answered.
        if (pendingToolCallIds.length === 0) return null
        return { ...finished, outcome: { type: 'success', pendingToolCallIds } }
      }
      case 'failed':
        return runError(standing.reason ?? 'failed', failureText(standing))
      case 'cancelled':
        return { ...finished, outcome: { type: 'cancelled' } }
      case 'completed':
      case 'halted':
        return { ...finished, outcome: { type: 'success' } }
    }
  }

  #names() {
    return { threadId: this.#threadId, runId: this.#runId }
  }

  /** The client shows something that the log has not. It gets the messages before the turn, and then the turn from its beginning. */
  #startOver(): void {
    this.#push(this.#sent.close())
    this.#isReading = true
    this.#readThread()
      .then((messages) => {
        this.#isReading = false
        if (this.#isOver) return
        this.#push([{ type: 'MESSAGES_SNAPSHOT', messages }])
        this.#sent = new SentTurn()
        if (this.#newest) this.#show(this.#newest)
        if (!this.#isReading) this.#send()
      })
      .catch((error: unknown) => this.#fail(error))
  }

  async #readThread() {
    const { server, verbs } = this.#call
    const maxBytes = Math.floor(server.settings.limits.answerBytes / 4)
    const { turns } = await verbs.inspect(this.#threadId).turns({ limit: turnsInSnapshot, maxBytes })
    const fileUrl = server.uiTurns.fileUrlOf(this.#tenant)
    return threadMessages(turns, this.#newest!, { streamed: this.#turnId, fileUrl })
  }

  #fail(error: unknown): void {
    const { logger } = this.#call.server.settings
    logger.error('a turn could not be encoded for a run', { id: this.#threadId, turnId: this.#turnId, error })
    this.#end([runError('server_failed', 'This turn cannot be shown. Read the log of the conversation.')])
  }

  #push(events: readonly AgUiEvent[]): void {
    this.#unsent = [...this.#unsent, ...events]
  }

  #send(): void {
    const events = this.#unsent
    this.#unsent = []
    if (events.length > 0) this.#subscription.push(eventFrames(events))
  }

  #end(events: readonly AgUiEvent[]): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#push(events)
    this.#send()
    this.#subscription.end()
  }
}

function runError(code: string, message: string): AgUiEvent {
  return { type: 'RUN_ERROR', code, message }
}
