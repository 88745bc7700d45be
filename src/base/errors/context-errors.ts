import { PerdureError } from './perdure-error.ts'

/** The prompt does not fit, whatever is left out. Raised before any provider is called. */
export class ContextOverflowError extends PerdureError {
  readonly biggest: readonly string[]

  constructor(tokens: number, ceiling: number, biggest: readonly string[]) {
    super(
      'context_overflow',
      `The prompt has about ${tokens} tokens; the ceiling is ${ceiling}. Make its biggest parts smaller: ${biggest.join('; ')}.`,
    )
    this.biggest = biggest
  }
}
