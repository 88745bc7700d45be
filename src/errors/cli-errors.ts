import { PerdureError } from './perdure-error.ts'

/** The words after `perdure` make no sense. */
export class CommandLineError extends PerdureError {
  constructor(problem: string, command = '') {
    super('invalid_command', `${problem}. Run: perdure ${command === '' ? '' : `${command} `}--help`)
  }
}

export class ConfigError extends PerdureError {
  constructor(file: string, problem: string, advice: string, options: { cause?: unknown } = {}) {
    super('config_invalid', `The config '${file}' ${problem}. ${advice}.`, options)
  }
}

/** Nothing says which store is meant, or there is none in the place that was said. It is never made by looking at it. */
export class StoreMissingError extends PerdureError {
  constructor(problem: string, advice: string) {
    super('store_missing', `${problem}. ${advice}.`)
  }
}
