import { PerdureError } from './perdure-error.ts'
import { thrownText } from './read-given.ts'

/** This process does not have the agent's code, or the conversation has no agent yet. */
export class AgentMissingError extends PerdureError {
  constructor(agent: string | null, id: string, available: readonly string[]) {
    const named = available.join(', ') || 'none'
    super(
      'agent_missing',
      agent === null
        ? `The conversation '${id}' has no agent yet. Pass one with its first message; there are: ${named}.`
        : `There is no agent '${agent}' here for '${id}'. Register it with createRuntime, or pass another; there are: ${named}.`,
    )
  }
}

/** A call waits for a process that has its tool. `waitMs`: for how much longer this one leaves it to others. */
export class ToolMissingError extends PerdureError {
  readonly waitMs: number

  constructor(id: string, agent: string, call: { readonly callId: string; readonly name: string }, waitMs: number) {
    super(
      'tool_missing',
      `The agent '${agent}' here has no tool '${call.name}' for the call '${call.callId}' of '${id}', which is left to processes that have it. Start a process with the tool: after ${Math.ceil(waitMs)} ms the call ends as an error.`,
    )
    this.waitMs = waitMs
  }
}

/** The conversation belongs to another agent. */
export class AgentMismatchError extends PerdureError {
  constructor(id: string, has: string, wanted: string) {
    super(
      'agent_mismatch',
      `The conversation '${id}' belongs to the agent '${has}', not '${wanted}'. Use another id, or fork it.`,
    )
  }
}

/** The conversation is that of a child agent, which only its parent talks to. */
export class ChildConversationError extends PerdureError {
  /** The conversation whose call started it, or is about to. */
  readonly parent: string

  constructor(id: string, parent: string) {
    super(
      'child_conversation',
      `The conversation '${id}' belongs to a call of '${parent}', and only that one talks to it. Send to '${parent}'; what waits in '${id}' can be answered there.`,
    )
    this.parent = parent
  }
}

/** A turn is open, and `whenBusy` is 'reject'. Nothing was sent. */
export class BusyError extends PerdureError {
  readonly turnId: string

  constructor(id: string, turnId: string) {
    super(
      'conversation_busy',
      `The conversation '${id}' is working on turn '${turnId}'. Wait for it, or pass whenBusy: 'queue', 'steer' or 'interrupt'.`,
    )
    this.turnId = turnId
  }
}

/** No process works on it, because the last ones that did ended under it. Messages and answers are taken, and wait. */
export class ConversationQuarantinedError extends PerdureError {
  constructor(id: string) {
    super(
      'conversation_quarantined',
      `The conversation '${id}' is quarantined: the last five processes that worked on it ended under it. Find out why, then release it with unquarantine, or cancel its turn.`,
    )
  }
}

/** No such turn in what is at hand of the conversation. */
export class TurnNotFoundError extends PerdureError {
  constructor(id: string, turnId: string) {
    super(
      'turn_not_found',
      `There is no turn '${turnId}' in '${id}'. Check the id, or read the history for older turns.`,
    )
  }
}

/** Asked to write the answer of a turn anew. A log is only appended to, so what has ended stays as it is. */
export class TurnEndedError extends PerdureError {
  constructor(id: string, turnId: string) {
    super(
      'turn_ended',
      `The turn '${turnId}' of '${id}' has ended, and its answer stays. Send the message again as a new one, or fork the conversation before it.`,
    )
  }
}

/** The runtime has `tenant`, and it told none for this scope. */
export class TenantMissingError extends PerdureError {
  constructor() {
    super('tenant_missing', 'The scope names no tenant. Pass a scope whose tenant your `tenant` function can tell.')
  }
}

/** The runtime was closed. The store may still be open. */
export class RuntimeClosedError extends PerdureError {
  constructor() {
    super('runtime_closed', 'The runtime is closed. Create a new one.')
  }
}

/** The app's `loadState` threw, said that it failed, or took too long. Nothing was sent: a log that has begun is never seeded. */
export class SnapshotLoadError extends PerdureError {
  constructor(id: string, cause: unknown) {
    const why = thrownText(cause)
    super(
      'snapshot_load_failed',
      `loadState failed for '${id}', and nothing was sent: ${why.replace(/[.\s]+$/, '')}. Try again, or return null to begin without a snapshot.`,
      { cause, retryable: true },
    )
  }
}

/** The reader was too slow for what is published. `after` is the last event it was given: watch again from there. */
export class WatcherLaggedError extends PerdureError {
  readonly after: number

  constructor(id: string, after: number) {
    super(
      'watcher_lagged',
      `A watcher of '${id}' fell too far behind after event ${after}. Watch again with { after: ${after} }.`,
      {
        retryable: true,
      },
    )
    this.after = after
  }
}
