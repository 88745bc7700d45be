import { callPhase } from '../../src/log/call-phase.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { type ConversationState, emptyState, openTurn } from '../../src/log/state.ts'
import { Announcer } from '../../src/view/live-events.ts'
import type { LiveContent, LiveEvent } from '../../src/view/view.ts'
import { Choices } from '../log/choices.ts'
import { simulate } from '../log/simulate.ts'

export const filmedId = 'story'

export type Filmed = LogEvent | LiveEvent

/**
 * A finished history, with what was live at each of its moments: any, in any order, some of it lost. A committed event and what is announced
 * with it are one moment.
 */
export function film(tape: readonly number[], liveTape: readonly number[]): Filmed[][] {
  const { log } = simulate(tape)
  const camera = new Camera(new Choices(liveTape), log)
  const moments = log.flatMap((event) => [...camera.shoot(), camera.cut(event)])
  return [...moments, ...camera.shoot()]
}

class Camera {
  readonly #choices: Choices
  readonly #log: readonly LogEvent[]
  readonly #counts = new Map<string, number>()
  #state: ConversationState = emptyState

  constructor(choices: Choices, log: readonly LogEvent[]) {
    this.#choices = choices
    this.#log = log
  }

  /** The event, and what is announced with it. */
  cut(event: LogEvent): Filmed[] {
    const announcer = new Announcer(this.#state)
    const { live } = announcer.next(event)
    this.#state = announcer.state()
    return [event, ...live]
  }

  /** Nothing is live before there is a turn. After one has ended, something may still come late. */
  shoot(): Filmed[][] {
    if (this.#state.turns.length === 0) return []
    const shots = Array.from({ length: this.#choices.below(4) }, () => this.#choices.of(this.#scenes())())
    return shots.map((content) => [{ conversationId: filmedId, seq: this.#state.lastSeq, ...content }])
  }

  #scenes(): (() => LiveContent)[] {
    const activities = ['preparing', 'streaming', 'executing_tools'] as const
    return [
      () => this.#delta(),
      () => this.#delta(),
      () => this.#delta(),
      () => ({ type: 'message_discarded', turnId: this.#turnId(), messageId: this.#messageId() }),
      () => ({ type: 'tool_progress', callId: this.#callId(), payload: this.#choices.below(100) }),
      () => ({ type: 'phase_changed', phase: this.#choices.of(activities) }),
    ]
  }

  #delta(): LiveContent {
    const messageId = this.#messageId()
    const n = (this.#counts.get(messageId) ?? 0) + 1
    // Now and then one is lost on the way.
    if (this.#choices.below(10) < 9) this.#counts.set(messageId, n)
    const base = { turnId: this.#turnId(), messageId, n, part: `part-${this.#choices.below(2)}`, delta: `${n} ` }
    const type = this.#choices.of(['text_delta', 'reasoning_delta', 'tool_input_delta'] as const)
    return type === 'tool_input_delta' ? { ...base, type, callId: base.part, name: 'refund' } : { ...base, type }
  }

  #turnId(): string {
    return (openTurn(this.#state) ?? this.#state.turns.at(-1))?.turnId ?? ''
  }

  /** Of the message that will be committed next, or of one that never will. */
  #messageId(): string {
    const turnId = this.#turnId()
    const next = this.#log.find(
      (event) => event.type === 'assistant_msg' && event.seq > this.#state.lastSeq && event.content.turnId === turnId,
    )
    const coming = next?.type === 'assistant_msg' ? next.content.messageId : `ghost-${turnId}`
    return this.#choices.of([coming, coming, `ghost-${turnId}`])
  }

  #callId(): string {
    const calls = this.#state.turns.flatMap((turn) => turn.calls)
    const begun = calls.filter((call) => ['started', 'ended'].includes(callPhase(call).type))
    return this.#choices.of(['c0', ...begun.map((call) => call.callId)])
  }
}
