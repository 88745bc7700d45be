import { PerdureError } from './perdure-error.ts'
import { thrownText } from './read-options.ts'

/** This process does not have the agent's code, or the conversation has no agent yet. */
export class AgentMissingError extends PerdureError {
  constructor(agent: string | null, id: string, available: readonly string[]) {
    const named = available.join(', ') || 'none'
    super(
      'agent_missing',
      agent === null
        ? `The conversation '${id}' has no agent yet. Pass one with its first message. Available: ${named}.`
        : `There is no agent '${agent}' here for '${id}'. Register it with createRuntime, or pass another. Available: ${named}.`,
    )
  }
}

/** A call waits for a process that has its tool. `waitMs`: how much longer this process leaves the call to others. */
export class ToolMissingError extends PerdureError {
  readonly waitMs: number

  constructor(id: string, agent: string, call: { readonly callId: string; readonly name: string }, waitMs: number) {
    super(
      'tool_missing',
      `The agent '${agent}' in this process has no tool '${call.name}', which the call '${call.callId}' of '${id}' needs. The call waits for a process that has it. Start one: after ${Math.ceil(waitMs)} ms the call ends as an error.`,
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

/** The conversation belongs to a child agent. Only its parent may send to it. */
export class ChildConversationError extends PerdureError {
  /** The conversation whose call started it, or is about to start it. */
  readonly parent: string

  constructor(id: string, parent: string) {
    super(
      'child_conversation',
      `The conversation '${id}' belongs to a call of '${parent}', which alone may send to it. Send to '${parent}'; questions in '${id}' can be answered there.`,
    )
    this.parent = parent
  }
}

/** A turn is open and `whenBusy` is 'reject'. Nothing was sent. */
export class BusyError extends PerdureError {
  readonly turnId: string

  /** `replace`: the message was to take the place of another turn, which needs a conversation at rest. */
  constructor(id: string, turnId: string, intent: 'send' | 'replace' = 'send') {
    const advice =
      intent === 'replace'
        ? 'Wait until it has ended, or cancel it; then replace it.'
        : "Wait for it, or pass whenBusy: 'queue', 'steer' or 'interrupt'."
    super('conversation_busy', `The conversation '${id}' is working on turn '${turnId}'. ${advice}`)
    this.turnId = turnId
  }
}

/**
 * No process works on the conversation, because the last ones ended while doing so. Messages and answers are accepted
 * and wait.
 */
export class ConversationQuarantinedError extends PerdureError {
  constructor(id: string) {
    super(
      'conversation_quarantined',
      `The conversation '${id}' is quarantined: the last five processes that worked on it ended while doing so. Find out why, then release it with unquarantine, or cancel its turn.`,
    )
  }
}

/** The loaded part of the conversation has no such turn. */
export class TurnNotFoundError extends PerdureError {
  constructor(id: string, turnId: string) {
    super(
      'turn_not_found',
      `There is no turn '${turnId}' in '${id}'. Check the id, or read the history for older turns.`,
    )
  }
}

/** The turn was replaced by another one already. Nothing was sent. */
export class TurnSupersededError extends PerdureError {
  constructor(id: string, turnId: string) {
    super(
      'turn_superseded',
      `The turn '${turnId}' of '${id}' was already replaced. Use the turn that the view shows in its place, or fork the conversation to continue from an older variant.`,
    )
  }
}

type ActedCall = { readonly callId: string; readonly name: string }

/** Replacing the turn may repeat what its tools did, and they do not say that this is harmless. Nothing was sent. */
export class ForceNeededError extends PerdureError {
  /** The calls that may have had an effect. */
  readonly calls: readonly { readonly callId: string; readonly tool: string }[]

  constructor(id: string, turnId: string, calls: readonly ActedCall[]) {
    const tools = [...new Set(calls.map(({ name }) => `'${name}'`))]
    const told = tools.length > mostTools ? [...tools.slice(0, mostTools), 'others'] : tools
    super(
      'force_needed',
      `The turn '${turnId}' of '${id}', or one after it, ran ${told.join(', ')}, which may have had an effect. Pass force: true to replace the turn anyway; the model is told what was done. Mark tools that may safely run again with ifInterrupted: 'rerun'.`,
    )
    this.calls = calls.map(({ callId, name }) => ({ callId, tool: name }))
  }
}

const mostTools = 5

/** The runtime's `tenant` function returned no tenant for the scope. */
export class TenantMissingError extends PerdureError {
  constructor() {
    super(
      'tenant_missing',
      'The scope names no tenant. Pass a scope for which your `tenant` function returns a tenant.',
    )
  }
}

/** `restoreScope` threw, took too long or returned no scope of the tenant, so the turn waits. It continues as soon as the scope can be restored. */
export class ScopeMissingError extends PerdureError {
  constructor(id: string, who: string, options: { readonly cause?: unknown } = {}) {
    super(
      'scope_missing',
      `The scope of the user '${who}' could not be restored, so '${id}' waits. Correct restoreScope, or what it depends on; it is called again within a minute.`,
      { ...options, retryable: true },
    )
  }
}

/** The scope says more than a tenant and a user, and the runtime has no `restoreScope` to rebuild the rest for tools. */
export class ScopeNotRestorableError extends PerdureError {
  constructor() {
    super(
      'scope_not_restorable',
      'The scope holds more than a tenant and a user, but tools get a scope that is rebuilt from those two alone. Pass restoreScope to createRuntime, or a scope without assigns.',
    )
  }
}

/** A server of `mcpTools` failed. No verb throws it: it is the error of a call, and of what `mcpTools` logs. */
export class McpServerError extends PerdureError {
  constructor(server: string, problem: string, options: { readonly mayHaveActed?: boolean } = {}) {
    const effect = options.mayHaveActed ? ' The call may have taken effect.' : ''
    super('mcp_server_failed', `The MCP server '${server}' ${problem}.${effect} Check the server.`, {
      retryable: true,
    })
  }
}

/** The runtime was closed. The store may still be open. */
export class RuntimeClosedError extends PerdureError {
  constructor() {
    super('runtime_closed', 'The runtime is closed. Create a new one.')
  }
}

/**
 * The application's `loadState` threw, failed or took too long. Nothing was sent, because only an empty log can be
 * seeded.
 */
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

/** `authorize` threw, took too long or returned something else than a verdict. The verb did nothing. */
export class AuthorizeFailedError extends PerdureError {
  constructor(action: string, cause: unknown) {
    const why = thrownText(cause)
    super(
      'authorize_failed',
      `authorize failed for '${action}', and nothing was done: ${why.replace(/[.\s]+$/, '')}. Try again; if it keeps failing, correct authorize.`,
      { cause, retryable: true },
    )
  }
}

/** The application did not delete its copy of a conversation, so the conversation was not deleted either. */
export class SnapshotDeleteError extends PerdureError {
  constructor(id: string, cause: unknown) {
    const why = thrownText(cause)
    super(
      'snapshot_delete_failed',
      `deleteState failed for '${id}', and nothing was deleted: ${why.replace(/[.\s]+$/, '')}. Try again when deleteState works.`,
      { cause, retryable: true },
    )
  }
}

/** The watcher read too slowly. `after` is the last event that it received: watch again from there. */
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
