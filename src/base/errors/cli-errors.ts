import { PerdureError } from './perdure-error.ts'

/** The words after `perdure` make no sense. */
export class CommandLineError extends PerdureError {
  readonly problem: string
  /** Whose help is to be looked at; empty: that of all. */
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

/** An answer was given to a conversation that waits for none. */
export class NothingWaitsError extends PerdureError {
  /** `look` is the command line that shows what it does wait for. */
  constructor(id: string, what: string, look: string) {
    super('call_not_found', `Nothing in '${id}' waits for ${what}. Run: ${look}`)
  }
}

/** The prompts of a conversation were not kept. */
export class NoModelCallsError extends PerdureError {
  constructor(id: string) {
    super(
      'turn_not_found',
      `No model call of '${id}' was kept: the audit of its agent is off, or they were removed. Put audit: 'records' into the agent for later calls.`,
    )
  }
}

/** A server does not offer what the command needs. */
export class UpkeepNotServedError extends PerdureError {
  constructor(place: string) {
    super(
      'upkeep_unsupported',
      `Nobody can look after a store at ${place}. Check the path of the address, start the server with 'upkeep' (perdure serve of this version does), or pass --store with the store itself.`,
    )
  }
}

/** The connection went before the server had said how it ended. `advice` says what to do then. */
export class CutOffError extends PerdureError {
  constructor(problem: string, advice: string, options: { cause?: unknown } = {}) {
    super('server_unreachable', `${problem}. ${advice}.`, { retryable: true, ...options })
  }
}

/** Nothing says which store is meant, or there is none in the place that was said. It is never made by looking at it. */
export class StoreMissingError extends PerdureError {
  constructor(problem: string, advice: string) {
    super('store_missing', `${problem}. ${advice}.`)
  }
}
