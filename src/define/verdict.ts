import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { unknownKeys } from '../base/errors/unknown-keys.ts'

/** Ends the turn as `halted`. */
export type Halt = { readonly type: 'halt'; readonly reason: string; readonly show?: boolean }

/** How a turn is halted. */
export type HaltOptions = {
  /** Shows the message that a post-hook judged. Default: false, the message is withheld. */
  readonly show?: boolean
}

/** Asks the model once more, telling it why. */
export type Regenerate = { readonly type: 'regenerate'; readonly feedback: string }

/** The verdict of a hook that ends the turn as `halted`, with this reason. From a post-hook it withholds the message, unless `show` is true. */
export function halt(reason: string, options: HaltOptions = {}): Halt {
  if (typeof reason !== 'string') throw new InvalidArgumentError('reason', 'must be a string')
  const [problem] = unknownKeys(options, ['show'])
  if (problem !== undefined) throw new InvalidArgumentError('options', problem)
  const { show = false } = options
  if (typeof show !== 'boolean') throw new InvalidArgumentError('show', 'must be true or false')
  return Object.freeze({ type: 'halt', reason, ...(show ? { show } : {}) })
}

/** The verdict of a post-hook that has the message written again, at most `maxRegenerations` times. */
export function regenerate(feedback: string): Regenerate {
  if (typeof feedback !== 'string') throw new InvalidArgumentError('feedback', 'must be a string')
  return Object.freeze({ type: 'regenerate', feedback })
}

export function isHalt(value: unknown): value is Halt {
  const { type, reason } = Object(value) as Partial<Halt>
  return type === 'halt' && typeof reason === 'string'
}

export function isRegenerate(value: unknown): value is Regenerate {
  const { type, feedback } = Object(value) as Partial<Regenerate>
  return type === 'regenerate' && typeof feedback === 'string'
}
