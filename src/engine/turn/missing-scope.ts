import { unlessAborted } from '../../base/abort.ts'
import { thrownText } from '../../base/errors/read-options.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { Decision } from '../../log/decide.ts'
import type { NewEvent } from '../../log/events.ts'
import { type ConversationState, findCall, findTurn } from '../../log/state.ts'
import type { TurnContext } from './turn-context.ts'

/** A turn that cannot continue, because the scope of its next step cannot be rebuilt. */
export type MissingScope = { readonly turnId: string; readonly who: string; readonly error: unknown }

/** What an owner commits when it releases a turn whose scope is missing, and when the turn is tried again. */
type ScopeWait = { readonly events: readonly NewEvent[]; readonly inMs: number }

/** Makes sure of the scope of each step before anything of the step is recorded: a call that has begun in the log would count as interrupted. */
export class ScopeCheck {
  readonly #context: TurnContext
  #leaving: AbortController | null = null
  #leftForMs = 0

  constructor(context: TurnContext) {
    this.#context = context
  }

  /** After the release: for how long other processes may take the turn first, because they may be able to rebuild the scope. */
  get leftForMs(): number {
    return this.#leftForMs
  }

  /** Null if the scope of the decided step is available, if the step needs none, and if the conversation was released in the meantime. */
  async missing(decision: Decision): Promise<MissingScope | null> {
    this.#leaving ??= new AbortController()
    const { signal } = this.#leaving
    return unlessAborted(missingScope(this.#context, decision), signal).catch((error: unknown) => {
      if (signal.aborted) return null
      throw error
    })
  }

  /** Nothing that the application does is waited for any longer. */
  leave(): void {
    this.#leaving?.abort()
  }

  /** Logged once. The pause doubles the time that the turn has waited; it is in the row, so that all processes together keep it. */
  wait(missing: MissingScope, state: ConversationState): ScopeWait {
    const { redact, clock } = this.#context.node
    const since = findTurn(state, missing.turnId)?.scopeMissing
    const waitedMs = since ? clock.now() - since.at : 0
    const inMs = Math.min(lastRetryMs, Math.max(firstRetryMs, waitedMs))
    return { events: since ? [] : [waitingEvent(missing, redact)], inMs }
  }

  /** Must be called when the wait is durable. */
  hasLeft({ who, error }: MissingScope, { events, inMs }: ScopeWait): void {
    const { node, ref } = this.#context
    if (events.length > 0) node.logger.error('a turn waits: its scope could not be restored', { ...ref, who, error })
    this.#leftForMs = inMs + othersFirstMs
  }
}

const firstRetryMs = 1_000
const lastRetryMs = 30_000
/** A process that could not rebuild a scope gives the others this much longer than itself. */
const othersFirstMs = 1_000

async function missingScope({ scopes }: TurnContext, decision: Decision): Promise<MissingScope | null> {
  const { events, after, step } = decision
  for (const event of events) {
    const found = event.type === 'tool_started' ? findCall(after, event.content.callId) : null
    if (!found) continue
    const { turn, call } = found
    const error = await failureOf(scopes.ofCall(turn, call.callId))
    if (error) return { turnId: turn.turnId, who: scopes.whoOfCall(turn, call.callId), error }
  }
  const turn = step.type === 'model' && events.length === 0 ? findTurn(after, step.turnId) : null
  const error = turn && (await failureOf(scopes.ofStep(turn)))
  return turn && error ? { turnId: turn.turnId, who: scopes.whoOfStep(turn), error } : null
}

async function failureOf(scope: Promise<unknown>): Promise<unknown> {
  try {
    await scope
    return null
  } catch (error) {
    return error ?? new Error('the scope could not be rebuilt')
  }
}

const maxReasonLength = 500

function waitingEvent({ turnId, who, error }: MissingScope, redact: Redact): NewEvent {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const reason = redact(thrownText(cause)).slice(0, maxReasonLength).toWellFormed()
  return { type: 'scope_missing', content: { turnId, who, reason } }
}
