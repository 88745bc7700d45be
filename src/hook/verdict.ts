import { InvalidArgumentError } from '../errors/store-errors.ts'

/** Ends the turn as `halted`. */
export type Halt = { readonly type: 'halt'; readonly reason: string }

/** Asks the model once more, telling it why. */
export type Regenerate = { readonly type: 'regenerate'; readonly feedback: string }

/** The verdict of a hook that ends the turn as `halted`, with this reason. */
export function halt(reason: string): Halt {
  if (typeof reason !== 'string') throw new InvalidArgumentError('reason', 'must be a string')
  return Object.freeze({ type: 'halt', reason })
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
