/** Something in an open conversation or session that this process's code cannot continue as it began. */
export type PreflightFinding = {
  readonly kind: PreflightKind
  /** `error`: it will fail, wait or be refused. `warning`: it continues, but look at it. */
  readonly level: 'error' | 'warning'
  readonly tenant: string
  /** The conversation or the session. */
  readonly id: string
  /** The agent of a conversation; null where it has none, and for a session. */
  readonly agent: string | null
  /** The flow of a session, with the version that it was recorded with; null for a conversation. */
  readonly flow: string | null
  readonly callId: string | null
  readonly tool: string | null
  /** What is wrong, and then what to do. */
  readonly message: string
}

/**
 * `agent_missing`, `flow_missing`, `tool_missing`: there is no code for it. `arguments_invalid`: recorded arguments of a call that will run do not match the tool's
 * `input`. `answer_schema_changed`: a question that waits was asked with another schema. `state_invalid`: the state does not match the agent's `state`.
 * `state_to_migrate`: the same, on an agent with `migrateState`, which was not run. `flow_diverges`: the flow's code does not do what is recorded.
 * `event_unknown`: a later version wrote in the log. `log_unreadable`: the log cannot be folded. `more`: the conversation has more findings.
 */
export type PreflightKind =
  | 'agent_missing'
  | 'flow_missing'
  | 'tool_missing'
  | 'arguments_invalid'
  | 'answer_schema_changed'
  | 'state_invalid'
  | 'state_to_migrate'
  | 'flow_diverges'
  | 'event_unknown'
  | 'log_unreadable'
  | 'more'

/** What was found of one conversation, without its place. */
export type Found = Pick<PreflightFinding, 'kind' | 'level' | 'message'> &
  Partial<Pick<PreflightFinding, 'callId' | 'tool'>>
