import { PerdureError } from './perdure-error.ts'

/** A tool, hook, agent, scope or turn that makes no sense. `problems` lists everything that is wrong with it. */
export class DefinitionError extends PerdureError {
  readonly problems: readonly string[]

  constructor(subject: string, problems: readonly string[]) {
    super('invalid_definition', `${subject} cannot be defined: ${problems.join('; ')}. Correct the definition.`)
    this.problems = problems
  }
}

/** A schema that checks values but cannot say what it accepts as JSON Schema, which models and people need. */
export class SchemaNotConvertibleError extends PerdureError {
  constructor(vendor: string, problem: string, options: { cause?: unknown } = {}) {
    super(
      'schema_not_convertible',
      `A schema of '${vendor}' cannot be turned into JSON Schema: ${problem}. Pass the JSON Schema itself, or one that can be.`,
      options,
    )
  }
}

/** To check a value against a JSON Schema would take more than it may. Nothing was written. */
export class SchemaTooComplexError extends PerdureError {
  constructor(what: string, problem: string) {
    super(
      'schema_too_complex',
      `The check of ${what} was given up: ${problem}. Make the schema simpler, or the value smaller.`,
    )
  }
}

/** An answer, or edited arguments, that do not match the schema. The call still waits. */
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

/** A hook threw, took too long, or returned something that hooks do not return. */
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
      `With the hook '${hook}' the injections have ${tokens} tokens; 'injectionReserve' allows ${reserve}. Inject less, or raise the reserve.`,
    )
    this.hook = hook
  }
}
