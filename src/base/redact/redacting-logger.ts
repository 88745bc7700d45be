import { consoleLogger, type LogDetails, type Logger } from '../logger.ts'
import { createRedactor, type Redact } from './redactor.ts'

/** Depth and number of members that are redacted in the details of a log line. The rest is left out. */
const mostDepth = 6
const mostMembers = 200

/** A redacting logger for parts that work without a runtime, such as a store. Default: the console. */
export function safeLogger(logger: Logger = consoleLogger): Logger {
  return redactingLogger(logger, createRedactor({ logger }))
}

/** Redacts secrets from messages, errors, their causes and all other details. */
export function redactingLogger(logger: Logger, redact: Redact): Logger {
  const told =
    (level: keyof Logger) =>
    (message: string, details?: LogDetails): void => {
      if (details === undefined) logger[level](redact(message))
      else logger[level](redact(message), new Redaction(redact).of(details, 0) as LogDetails)
    }
  return { debug: told('debug'), info: told('info'), warn: told('warn'), error: told('error') }
}

/** Copies details without their secrets. */
class Redaction {
  readonly #redact: Redact
  #members = 0

  constructor(redact: Redact) {
    this.#redact = redact
  }

  of(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#redact(value)
    if (typeof value !== 'object' || value === null) return typeof value === 'function' ? '[function]' : value
    if (depth >= mostDepth) return '[more]'
    try {
      if (value instanceof Error) return this.#error(value, depth)
      if (value instanceof Date) return value
      if (Array.isArray(value)) return value.slice(0, this.#left(value.length)).map((one) => this.of(one, depth + 1))
      return Object.fromEntries(this.#entries(value, depth))
    } catch {
      return '[something that cannot be shown]'
    }
  }

  /** The copy keeps its class and stack, so consoles show it as an error. */
  #error(error: Error, depth: number): Error {
    const message = String(error.message)
    const copy = new Error(this.#redact(message))
    Object.setPrototypeOf(copy, Object.getPrototypeOf(error))
    const own: PropertyDescriptorMap = {}
    for (const [name, value] of this.#entries(error, depth)) own[name] = hidden(value, true)
    for (const symbol of Object.getOwnPropertySymbols(error)) own[symbol] = hidden(Reflect.get(error, symbol), false)
    if ('cause' in error) own['cause'] = hidden(this.of(error.cause, depth + 1), false)
    own['stack'] = hidden(this.#redact(String(error.stack ?? '')), false)
    if (Object.hasOwn(error, 'name')) own['name'] = hidden(this.#redact(String(error.name)), false)
    return Object.defineProperties(copy, own)
  }

  #entries(value: object, depth: number): [string, unknown][] {
    const entries = Object.entries(value)
    return entries.slice(0, this.#left(entries.length)).map(([name, member]) => [name, this.of(member, depth + 1)])
  }

  /** How many more members may be visited. */
  #left(wanted: number): number {
    const left = Math.min(wanted, mostMembers - this.#members)
    this.#members += left
    return left
  }
}

function hidden(value: unknown, enumerable: boolean): PropertyDescriptor {
  return { value, enumerable, writable: true, configurable: true }
}
