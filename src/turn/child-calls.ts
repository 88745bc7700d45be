import { childCalls, childTurnIdOf } from '../log/child-call.ts'
import { endOf } from '../log/decide.ts'
import type { NewEvent } from '../log/events.ts'
import { type CallState, type ConversationState, findTurn, openTurn } from '../log/state.ts'
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

  /** The turn whose end is the result of a call elsewhere; null where there is none. */
  get linkedTurnId(): string | null {
    const { parent } = this.#family
    return parent && childTurnIdOf(parent.callId)
  }

  /** The calls whose child may not be there: it is made sure of before the conversation is let go. */
  unstarted(state: ConversationState): CallState[] {
    return childCalls(state).filter(({ callId }) => !this.#started.has(callId))
  }

  async start(state: ConversationState): Promise<void> {
    for (const call of this.unstarted(state)) {
      await this.#family.start(call, openTurn(state)!)
      this.#started.add(call.callId)
    }
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

  /** Must be called before a commit that ends the linked turn: whoever waits for it learns of the end first. */
  async tellParent(events: readonly NewEvent[], after: ConversationState): Promise<void> {
    const end = endOf(this.linkedTurnId, events)
    const turn = end && findTurn(after, end.turnId)
    if (!end || !turn || this.#isParentTold) return
    await this.#family.resolveParent(childResult(this.#agent, turn, end))
    this.#isParentTold = true
  }

  get patienceMs(): number {
    return this.#family.patienceMs
  }

  makeRoom(): () => void {
    return this.#family.makeRoom()
  }
}
