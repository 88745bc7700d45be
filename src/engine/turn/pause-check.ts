import type { TurnContext } from './turn-context.ts'

/**
 * Keeps an owner from beginning a queued turn of what was paused while it worked on the turn before: a claim would be refused by then. Asked of the store only
 * where one lease works on several turns, so a turn by itself costs nothing.
 */
export class PauseCheck {
  readonly #context: Pick<TurnContext, 'node' | 'ref' | 'agent'>
  /** The turn that this owner works on. */
  #turnId: string | null = null

  constructor(context: Pick<TurnContext, 'node' | 'ref' | 'agent'>) {
    this.#context = context
  }

  /** Whether the turn is a further one, which must not begin before `isPaused` has said no. */
  isFurther(turnId: string): boolean {
    return this.#turnId !== null && this.#turnId !== turnId
  }

  begins(turnId: string): void {
    this.#turnId = turnId
  }

  isPaused(): Promise<boolean> {
    const { node, ref, agent } = this.#context
    return node.pauses.isPaused({ ...ref, agent: agent.name })
  }
}
