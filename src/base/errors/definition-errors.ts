import { PerdureError } from './perdure-error.ts'

/** A tool, hook, agent, scope or turn is not valid. `problems` lists everything that is wrong with it. */
export class DefinitionError extends PerdureError {
  readonly problems: readonly string[]

  constructor(subject: string, problems: readonly string[]) {
    super('invalid_definition', `${subject} cannot be defined: ${problems.join('; ')}. Correct the definition.`)
    this.problems = problems
  }
}

/** A schema that validates values but cannot be converted to JSON Schema, which models and people need. */
export class SchemaNotConvertibleError extends PerdureError {
  constructor(vendor: string, problem: string, options: { cause?: unknown } = {}) {
    super(
      'schema_not_convertible',
      `A schema of '${vendor}' cannot be converted to JSON Schema: ${problem}. Pass a JSON Schema, or a schema that can be converted.`,
      options,
    )
  }
}

/** Checking a value against a JSON Schema would cost more than its limit. Nothing was written. */
export class SchemaTooComplexError extends PerdureError {
  constructor(what: string, problem: string) {
    super(
      'schema_too_complex',
      `The check of ${what} was stopped: ${problem}. Simplify the schema, or make the value smaller.`,
    )
  }
}

/** An answer or edited arguments do not match the schema. The call still waits. */
export class InvalidAnswerError extends PerdureError {
  readonly issues: string

  constructor(what: string, issues: string) {
    super(
      'invalid_answer',
      `The ${what} ${what.endsWith('s') ? 'do' : 'does'} not match what was asked for: ${issues}. Correct it and send it again; the call still waits.`,
    )
    this.issues = issues
  }
}

/** An answer names the digest of other arguments than the call has. Nothing was written, and the call still waits. */
export class ArgumentsChangedError extends PerdureError {
  constructor(callId: string) {
    super(
      'arguments_changed',
      `The arguments of the call '${callId}' have changed since this answer was decided. Read the call again, decide again, and send its new digest; the call still waits.`,
    )
  }
}

/** The state in the log does not match the agent's schema, and `migrateState` did not make it match. */
export class StateInvalidError extends PerdureError {
  readonly issues: string

  constructor(agent: string, conversationId: string, issues: string) {
    super(
      'state_invalid',
      `The state of '${conversationId}' does not match the schema of the agent '${agent}': ${issues}. Make the schema accept it, or convert it with 'migrateState'.`,
    )
    this.issues = issues
  }
}

/** A change of state was refused. The state is as it was. */
export class StateRefusedError extends PerdureError {
  readonly reason: string

  constructor(reason: string) {
    super('state_refused', `The state was not changed: ${reason}. Correct the change and set it again.`)
    this.reason = reason
  }
}

/** A hook threw, took too long, or returned an invalid result. */
export class HookError extends PerdureError {
  readonly hook: string

  constructor(hook: string, problem: string, options: { cause?: unknown } = {}) {
    super('hook_failed', `The hook '${hook}' ${problem}. Correct the hook.`, options)
    this.hook = hook
  }
}

/** Hooks injected more than `injectionReserve`. The model was not called. */
export class InjectionOverflowError extends PerdureError {
  readonly hook: string

  constructor(hook: string, tokens: number, reserve: number) {
    super(
      'injection_overflow',
      `The injections up to the hook '${hook}' have ${tokens} tokens; 'injectionReserve' allows ${reserve}. Inject less, or raise the reserve.`,
    )
    this.hook = hook
  }
}

/** The function that chooses an agent's model threw, took too long, or returned no model. The turn fails. */
export class ModelChoiceError extends PerdureError {
  constructor(agent: string, problem: string, options: { cause?: unknown } = {}) {
    super(
      'no_model_chosen',
      `The 'model' function of the agent '${agent}' ${problem}. Make it return a language model.`,
      options,
    )
  }
}
