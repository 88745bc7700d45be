import type { ErrorCode } from './codes.ts'
import { PerdureError } from './perdure-error.ts'

/** The codes of `ModelError`. */
export type ModelErrorCode = Extract<ErrorCode, `model_${string}`>

/**
 * A model did not answer, or its stream broke. The message contains the provider's text with everything that looks like
 * a key removed. There is no `cause`, because providers keep request headers and bodies on their errors.
 */
export class ModelError extends PerdureError {
  declare readonly code: ModelErrorCode
  readonly provider: string
  readonly modelId: string
  /** The HTTP status, if there was a response. */
  readonly statusCode: number | null

  constructor(code: ModelErrorCode, message: string, details: ModelErrorDetails) {
    super(code, message, { retryable: details.retryable })
    this.provider = details.provider
    this.modelId = details.modelId
    this.statusCode = details.statusCode
  }
}

/** The members of `ModelError` besides its message. */
export type ModelErrorDetails = {
  readonly provider: string
  readonly modelId: string
  readonly statusCode: number | null
  readonly retryable: boolean
}

/** The agent's `transformChunk` threw, or returned a promise. Continuing would show or store text that it was meant to change. */
export class TransformFailedError extends PerdureError {
  constructor(problem: string, options: { cause?: unknown } = {}) {
    super('transform_failed', `The agent's transformChunk ${problem}.`, options)
  }

  static threw(cause: unknown): TransformFailedError {
    const said = cause instanceof Error ? cause.message : String(cause)
    return new TransformFailedError(`threw: ${said}. Make it return a chunk or nothing`, { cause })
  }

  static returnedPromise(): TransformFailedError {
    return new TransformFailedError('returned a promise, but it must be synchronous. Make it return the chunk itself')
  }
}

/** The prompt does not fit even with everything optional left out. Thrown before a provider is called. */
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
