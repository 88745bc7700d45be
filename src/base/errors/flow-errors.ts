import type { ErrorCode } from './codes.ts'
import { markUserFacing, PerdureError } from './perdure-error.ts'

/** The code of a flow does not ask for what its record holds. Raised before anything is written. */
export class DeterminismError extends PerdureError {
  readonly position: number
  readonly recorded: unknown
  readonly actual: unknown

  constructor(id: string, position: number, recorded: unknown, actual: unknown) {
    super(
      'flow_diverged',
      `The flow of '${id}' differs from its record at position ${position}: recorded ${told(recorded)}, now ${told(actual)}. ` +
        'Restore the code it was recorded with, or give the new code a version of its own and let sessions go on in it with continueAs.',
    )
    this.position = position
    this.recorded = recorded
    this.actual = actual
  }
}

function told(op: unknown): string {
  const text = JSON.stringify(op) ?? String(op)
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`
}

/** The flow, or that version of it, is not registered. */
export class NoSuchFlowError extends PerdureError {
  constructor(flow: string, available: readonly string[]) {
    super(
      'no_such_flow',
      `There is no flow '${flow}' here. Register it with createRuntime; there are: ${available.join(', ') || 'none'}.`,
    )
  }
}

/** A flow asked for an agent that is not registered. */
export class NoSuchAgentError extends PerdureError {
  constructor(agent: string, available: readonly string[]) {
    super(
      'no_such_agent',
      `There is no agent '${agent}' here. Register it with createRuntime; there are: ${available.join(', ') || 'none'}.`,
    )
  }
}

/** A flow waited for a turn of a conversation that is gone. */
export class AwaitedConversationDeletedError extends PerdureError {
  constructor(id: string) {
    super(
      'conversation_not_found',
      `The conversation '${id}' was deleted while the flow waited for its turn. Ask again in another conversation, or catch this in the flow.`,
    )
  }
}

/** No such session in this tenant. */
export class NoSessionError extends PerdureError {
  constructor(id: string) {
    super('no_session', `There is no session '${id}'. Check the id and the tenant, or start it first.`)
  }
}

/** The id of a session is taken. */
export class SessionExistsError extends PerdureError {
  constructor(id: string) {
    super(
      'session_exists',
      `There is a session or conversation '${id}' already. Resume it, or start one with another id.`,
    )
  }
}

/** Who resumed first, when, and with what. */
export type WinningAnswer = { readonly who: string; readonly at: number; readonly value: unknown }

/** Nothing waits for an answer, or somebody else has given it: then `winner` says who. */
export class NotSuspendedError extends PerdureError {
  readonly winner: WinningAnswer | null

  constructor(id: string, status: string, winner: WinningAnswer | null = null) {
    super(
      'not_suspended',
      winner
        ? `The session '${id}' was resumed by '${winner.who}' first; it is ${status}. Ask for its status before you resume.`
        : `The session '${id}' does not wait for that: it is ${status}. Ask for its status before you resume.`,
    )
    this.winner = winner
  }
}

/**
 * What a flow asked for has failed: a step threw, an agent could not be asked. What was thrown is in the record as text, with its code where it
 * was an error of ours. Flows may catch it.
 */
export class FlowStepError extends PerdureError {
  /** `unknown`: interrupted, it may have run. `ran`: it ran, but its result could not be recorded. */
  readonly outcome: 'unknown' | 'ran' | null

  constructor(
    message: string,
    code: ErrorCode = 'flow_step_failed',
    outcome: 'unknown' | 'ran' | null = null,
    { userFacing = false }: { readonly userFacing?: boolean } = {},
  ) {
    super(code, message)
    this.outcome = outcome
    if (userFacing) markUserFacing(this)
  }
}
