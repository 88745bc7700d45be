import { PerdureError } from './perdure-error.ts'

/** The command line is not valid. */
export class CommandLineError extends PerdureError {
  readonly problem: string
  /** The command whose help explains it. Empty: the general help. */
  readonly command: string

  constructor(problem: string, command = '') {
    super('invalid_command', `${problem}. Run: perdure ${command === '' ? '' : `${command} `}--help`)
    this.problem = problem
    this.command = command
  }
}

export class ConfigError extends PerdureError {
  constructor(file: string, problem: string, advice: string, options: { cause?: unknown } = {}) {
    super('config_invalid', `The config '${file}' ${problem}. ${advice}.`, options)
  }
}

/** An answer was given to a conversation that does not wait for one. */
export class NothingWaitsError extends PerdureError {
  /** `look` is the command that shows what the conversation does wait for. */
  constructor(id: string, what: string, look: string) {
    super('call_not_found', `Nothing in '${id}' waits for ${what}. Run: ${look}`)
  }
}

/** The audit has no model calls of the conversation. */
export class NoModelCallsError extends PerdureError {
  constructor(id: string) {
    super(
      'turn_not_found',
      `No model calls of '${id}' are recorded: the audit of its agent is off, or they were removed. Set audit: 'records' on the agent to record later calls.`,
    )
  }
}

/** The server does not offer the maintenance routes that the command needs. */
export class UpkeepNotServedError extends PerdureError {
  constructor(place: string) {
    super(
      'upkeep_unsupported',
      `The server at ${place} does not offer maintenance of its store. Check the address, start the server with 'upkeep' (perdure serve of this version does), or pass --store with the store itself.`,
    )
  }
}

/** The connection broke before the result arrived. `advice` says what to do. */
export class CutOffError extends PerdureError {
  constructor(problem: string, advice: string, options: { cause?: unknown } = {}) {
    super('server_unreachable', `${problem}. ${advice}.`, { retryable: true, ...options })
  }
}

/** No store was named, or there is none at the given place. Reading never creates a store. */
export class StoreMissingError extends PerdureError {
  constructor(problem: string, advice: string) {
    super('store_missing', `${problem}. ${advice}.`)
  }
}
