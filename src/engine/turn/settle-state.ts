import { withTimeout } from '../../base/clock.ts'
import { StateInvalidError, StateRefusedError } from '../../base/errors/definition-errors.ts'
import { type AgentState, updateState } from '../../define/agent-state.ts'
import type { StateUpdate } from '../../define/turn.ts'
import { tentative } from '../../log/decide.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { type Outcome, type ResultOutcome, type SettledState, settle } from '../../log/settle.ts'
import type { ConversationState } from '../../log/state.ts'
import type { TurnContext } from './turn-context.ts'

type Context = Pick<TurnContext, 'agent' | 'ref'> & { readonly node: Pick<TurnContext['node'], 'clock' | 'redact'> }

/** How often a change is computed again because the log grew. Each time another writer got ahead; only one that the function itself starts gets ahead for ever. */
const mostTries = 100

/** `tries`: on how many logs it was computed; `seq`: the end of the last of them. */
type Pending = { readonly updates: readonly StateUpdate[]; tries: number; seq: number }

/** What the tools of one conversation have set, until their results are in the log. */
export class StateUpdates {
  readonly #context: Context
  /** By call. */
  readonly #updates = new Map<string, Pending>()

  constructor(context: Context) {
    this.#context = context
  }

  get isEmpty(): boolean {
    return this.#updates.size === 0
  }

  /** A later attempt of the call replaces what an earlier one set. */
  add(callId: string, updates: readonly StateUpdate[]): void {
    if (updates.length > 0) this.#updates.set(callId, { updates, tries: 0, seq: 0 })
    else this.#updates.delete(callId)
  }

  forget(callId: string): void {
    this.#updates.delete(callId)
  }

  /**
   * The outcomes with what their tools set, computed on this state, one after the other. Runs functions of the application, so it is called outside of `decide`,
   * before each commit: after a conflict, on the newer state.
   */
  async settled(state: ConversationState, outcomes: readonly Outcome[]): Promise<Outcome[]> {
    const settled: Outcome[] = []
    let after = state
    for (const outcome of outcomes) {
      const next = outcome.type === 'result' ? await this.#withState(after, outcome, state.lastSeq) : outcome
      settled.push(next)
      after = foldEvents(tentative(settle(after, next), after.lastSeq), after)
    }
    return settled
  }

  /** `seq`: the end of the log. */
  async #withState(state: ConversationState, outcome: ResultOutcome, seq: number): Promise<ResultOutcome> {
    const pending = this.#updates.get(outcome.callId)
    const definition = this.#context.agent.state
    if (!pending || !definition || !outcome.result.ok || settle(state, outcome).length === 0) return outcome
    if (pending.seq !== seq) pending.tries += 1
    pending.seq = seq
    const set =
      pending.tries > mostTries ? { refused: tooOften } : await this.#computed(definition, state, pending.updates)
    return set ? { ...outcome, state: set } : outcome
  }

  /** Null when nothing changes. */
  async #computed(
    definition: AgentState,
    state: ConversationState,
    updates: readonly StateUpdate[],
  ): Promise<SettledState | null> {
    const { agent, ref, node } = this.#context
    const where = { agent: agent.name, conversationId: ref.id }
    const { hookTimeoutMs } = agent
    try {
      const update = updateState(definition, state.appState?.values, updates, where)
      // Schemas may be asynchronous; the rest of the conversation waits for them.
      const { patch } = await withTimeout(update, hookTimeoutMs, node.clock, () => {
        throw new StateRefusedError(`it could not be checked within ${hookTimeoutMs} ms`)
      })
      return patch && { patch, exposed: definition.exposed }
    } catch (error) {
      return { refused: node.redact(refusal(error)) }
    }
  }
}

const tooOften = `the log grew ${mostTries} times while the change was computed; do not write to the conversation in the function that computes it`

/** As text that follows "The state was not changed: ". */
function refusal(error: unknown): string {
  if (error instanceof StateRefusedError) return error.reason
  if (error instanceof StateInvalidError) return error.issues
  return error instanceof Error ? error.message : String(error)
}
