import { PerdureError } from './perdure-error.ts'

/** The code of a flow does not ask for what its record holds. Raised before anything is written. */
export class DeterminismError extends PerdureError {
  readonly position: number
  readonly recorded: unknown
  readonly actual: unknown

  constructor(id: string, position: number, recorded: unknown, actual: unknown) {
    super(
      'flow_diverged',
      `The flow of '${id}' differs from its record at position ${position}: recorded ${told(recorded)}, now ${told(actual)}. ` +
        'Restore the code it was recorded with, or give the new code a new version and let sessions continueAs.',
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

export class NoSuchFlowError extends PerdureError {
  constructor(flow: string, available: readonly string[]) {
    super(
      'no_such_flow',
      `There is no flow '${flow}' here. Register it with createRuntime; there are: ${available.join(', ') || 'none'}.`,
    )
  }
}

export class NoSuchAgentError extends PerdureError {
  constructor(agent: string, available: readonly string[]) {
    super(
      'no_such_agent',
      `There is no agent '${agent}' here. Register it with createRuntime; there are: ${available.join(', ') || 'none'}.`,
    )
  }
}

export class NoSessionError extends PerdureError {
  constructor(id: string) {
    super('no_session', `There is no session '${id}'. Start it first.`)
  }
}

export class SessionExistsError extends PerdureError {
  constructor(id: string) {
    super('session_exists', `A session '${id}' exists already. Resume it, or start one with another id.`)
  }
}

export class NotSuspendedError extends PerdureError {
  constructor(id: string, status: string) {
    super(
      'not_suspended',
      `The session '${id}' waits for nothing: it is ${status}. Ask for its status before you resume.`,
    )
  }
}

/** A step of a flow has thrown; what it threw is in the record as text. Flows may catch it. */
export class FlowStepError extends PerdureError {
  constructor(message: string) {
    super('flow_step_failed', message)
  }
}
