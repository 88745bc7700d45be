import type { LogEvent, NewEvent } from '../../log/events.ts'
import type { Step } from '../../log/next-step.ts'
import { type ConversationState, findTurn, openTurn, type TurnState } from '../../log/state.ts'
import type { Observer } from '../observer.ts'
import type { TurnContext } from './turn-context.ts'

/** Tells the observer what the owner of a conversation commits, and when its turns end or wait. Exists only where there is an observer. */
export class ObservedTurns {
  readonly #context: TurnContext
  readonly #observer: Observer
  readonly #heldFrom: number
  /** Whether something was committed since a turn was last told to rest: a process that only looks and parks again tells nothing twice. */
  #hasWritten = false

  /** `held`: the log as it was taken up. */
  constructor(context: TurnContext, observer: Observer, held: ConversationState) {
    this.#context = context
    this.#observer = observer
    this.#heldFrom = held.lastSeq
  }

  /** `placed`: null where the place of the events in the log is not known. `after`: the state with them. */
  committed(
    placed: readonly LogEvent[] | null,
    events: readonly NewEvent[],
    after: ConversationState,
    parks: boolean,
  ): void {
    const { ref, agent } = this.#context
    if (placed && placed.length > 0)
      this.#observer.observe({ type: 'committed', ref, name: agent.name, events: placed })
    if (events.length > 0) this.#hasWritten = true
    for (const event of events) {
      if (event.type !== 'turn_ended') continue
      const turn = findTurn(after, event.content.turnId)
      if (turn?.end) this.#rests(turn, turn.end.seq)
    }
    const open = parks && this.#hasWritten ? openTurn(after) : null
    if (open) this.#rests(open, after.lastSeq)
  }

  #rests({ turnId, firstSeq }: TurnState, lastSeq: number): void {
    const { ref, agent, store } = this.#context
    this.#hasWritten = false
    const heldFrom = this.#heldFrom
    this.#observer.observe({ type: 'rested', ref, name: agent.name, turnId, firstSeq, lastSeq, heldFrom, store })
  }
}

/** Tells when this process begins with a turn, and how long it waited for that. */
export function observeBeginning(
  { node, ref, agent }: TurnContext,
  turn: TurnState,
  { step }: Pick<Extract<Step, { type: 'model' }>, 'step'>,
): void {
  const [first] = turn.items
  if (!node.observer || step !== 0 || first?.type !== 'user') return
  const waitedMs = Math.max(0, node.clock.now() - first.at)
  node.observer.observe({ type: 'turn_begun', ref, name: agent.name, turnId: turn.turnId, waitedMs })
}
