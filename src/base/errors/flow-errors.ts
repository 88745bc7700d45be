import type { ErrorCode } from './codes.ts'
import { markUserFacing, PerdureError } from './perdure-error.ts'

/** The code of a flow asks for something else than its record contains. Thrown before anything is written. */
export class DeterminismError extends PerdureError {
  readonly position: number
  readonly recorded: unknown
  readonly actual: unknown

  constructor(id: string, position: number, recorded: unknown, actual: unknown) {
    super(
      'flow_diverged',
      `The flow of '${id}' differs from its record at position ${position}: recorded ${shortJson(recorded)}, now ${shortJson(actual)}. ` +
        'Restore the recorded code, or give the new code its own version and move sessions to it with continueAs.',
    )
    this.position = position
    this.recorded = recorded
    this.actual = actual
  }
}

function shortJson(op: unknown): string {
  const text = JSON.stringify(op) ?? String(op)
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`
}

/** The flow, or this version of it, is not registered. */
export class NoSuchFlowError extends PerdureError {
  constructor(flow: string, available: readonly string[]) {
    super(
      'no_such_flow',
      `There is no flow '${flow}' here. Register it with createRuntime. Available: ${available.join(', ') || 'none'}.`,
    )
  }
}

/** A flow asked for an agent that is not registered. */
export class NoSuchAgentError extends PerdureError {
  constructor(agent: string, available: readonly string[]) {
    super(
      'no_such_agent',
      `There is no agent '${agent}' here. Register it with createRuntime. Available: ${available.join(', ') || 'none'}.`,
    )
  }
}

/** A flow waited for a turn of a conversation that was deleted. */
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
    super('session_exists', `A session or conversation '${id}' already exists. Resume it, or use another id.`)
  }
}

/** The id is that of a session, and a verb of conversations was called. */
export class NotAConversationError extends PerdureError {
  constructor(id: string, flow: string | null) {
    super(
      'not_a_conversation',
      `'${id}' is a session${flow === null ? '' : ` of the flow '${flow}'`}, not a conversation. Use runtime.flow(${flow === null ? 'name' : `'${flow}'`}, '${id}').`,
    )
  }
}

/** The id is that of a conversation, and a verb of sessions was called. */
export class NotASessionError extends PerdureError {
  constructor(id: string) {
    super(
      'not_a_session',
      `'${id}' is a conversation, not a session of a flow. Use runtime.conversation('${id}'), or another id for the session.`,
    )
  }
}

/** The answer that came first, with its sender and time. */
export type WinningAnswer = { readonly who: string; readonly at: number; readonly value: unknown }

/** The session does not wait for this answer. `winner` is set when another caller answered first. */
export class NotSuspendedError extends PerdureError {
  readonly winner: WinningAnswer | null

  constructor(id: string, status: string, winner: WinningAnswer | null = null) {
    super(
      'not_suspended',
      winner
        ? `The session '${id}' was resumed by '${winner.who}' first; it is ${status}. Check its status before you resume.`
        : `The session '${id}' does not wait for this answer: it is ${status}. Check its status before you resume.`,
    )
    this.winner = winner
  }
}

/**
 * An operation of a flow failed: a step threw, or an agent could not be asked. The record has the thrown text, with the
 * code of a Perdure error. Flows may catch it.
 */
export class FlowStepError extends PerdureError {
  /** `unknown`: interrupted, so it may have run. `ran`: it ran, but its result could not be recorded. */
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
