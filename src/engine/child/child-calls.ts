import { childCalls, childTurnIdOf } from '../../log/child-call.ts'
import { type CallState, type ConversationState, findTurn, openTurn, type TurnState } from '../../log/state.ts'
import { childResult } from './child-result.ts'
import type { Family } from './family.ts'

/** An owner's dealings with its child agents, and with the call it is itself the child of. */
export class ChildCalls {
  readonly #family: Family
  readonly #agent: string
  readonly #started = new Set<string>()
  readonly #cancelled = new Set<string>()
  readonly #neverStarted = new Set<string>()
  #isParentTold = false

  constructor(family: Family, agent: string) {
    this.#family = family
    this.#agent = agent
  }

  /** Whether other conversations must hear something that follows from this log. The conversation stays due until they have. */
  areOwed(state: ConversationState): boolean {
    return this.#endedUntold(state) !== null || this.#unstarted(state).length > 0
  }

  /**
   * Tells the parent how this conversation ended, and starts the child agents that are waited for. `state` must be committed: another log
   * takes only what is in this one, so a process that has lost its lease says nothing that the log does not.
   */
  async settle(state: ConversationState): Promise<void> {
    const ended = this.#endedUntold(state)
    if (ended) {
      await this.#family.resolveParent(childResult(this.#agent, ended, ended.end))
      this.#isParentTold = true
    }
    for (const call of this.#unstarted(state)) {
      await this.#family.start(call, openTurn(state)!)
      this.#started.add(call.callId)
    }
  }

  #unstarted(state: ConversationState): CallState[] {
    return childCalls(state).filter(({ callId }) => !this.#started.has(callId))
  }

  /** The turn whose end is the result of the parent's call, once it has ended and as long as the parent may not know. */
  #endedUntold(state: ConversationState): (TurnState & { readonly end: NonNullable<TurnState['end']> }) | null {
    const { parent } = this.#family
    const turn = parent && !this.#isParentTold ? findTurn(state, childTurnIdOf(parent.callId)) : null
    return turn?.end ? { ...turn, end: turn.end } : null
  }

  /** Whether a child that was started has not ended its call yet. */
  areOpen(state: ConversationState): boolean {
    return childCalls(state).some(({ callId }) => !this.#neverStarted.has(callId))
  }

  /** Asks every child of the open turn to end. */
  async cancel(state: ConversationState): Promise<void> {
    const who = openTurn(state)?.cancel?.who ?? 'system'
    for (const { callId } of childCalls(state)) {
      if (this.#cancelled.has(callId)) continue
      if (!(await this.#family.cancel(callId, who))) this.#neverStarted.add(callId)
      this.#cancelled.add(callId)
    }
  }

  get patienceMs(): number {
    return this.#family.patienceMs
  }

  makeRoom(): () => void {
    return this.#family.makeRoom()
  }
}
