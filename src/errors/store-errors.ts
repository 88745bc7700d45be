import { PerdureError } from './perdure-error.ts'

/** A limit, bound, timeout or option that makes no sense. */
export class InvalidArgumentError extends PerdureError {
  constructor(name: string, problem: string) {
    super('invalid_argument', `'${name}' ${problem}. Correct the argument.`)
  }
}

export class InvalidIdError extends PerdureError {
  constructor(name: string, problem: string) {
    super('invalid_id', `The ${name} ${problem}. Use 1 to 255 bytes of well-formed UTF-8 without control characters.`)
  }
}

export class ConversationNotFoundError extends PerdureError {
  constructor(id: string) {
    super(
      'conversation_not_found',
      `There is no conversation '${id}'. Check the id and the tenant, or send it a first message.`,
    )
  }
}

export class CallNotFoundError extends PerdureError {
  constructor(callId: string) {
    super('call_not_found', `There is no tool call '${callId}'. Check the id and the tenant.`)
  }
}

export class ConversationExistsError extends PerdureError {
  constructor(id: string) {
    super('conversation_exists', `A conversation '${id}' exists already. Choose another id.`)
  }
}

/** The same key came with another content: two different requests under one name. */
export class KeyReusedError extends PerdureError {
  constructor(id: string, key: string) {
    super('key_reused', `The key '${key}' was used in '${id}' for something else. Use a new key for a new request.`)
  }
}

/**
 * The disk or the database said no. `ambiguous` means that the write may have been made: read the log, or send the same key again.
 */
export class StoreError extends PerdureError {
  readonly ambiguous: boolean

  constructor(message: string, options: { cause?: unknown; ambiguous?: boolean; retryable?: boolean } = {}) {
    super('store_failed', message, { retryable: true, ...options })
    this.ambiguous = options.ambiguous ?? false
  }
}

export class StoreBusyError extends PerdureError {
  constructor(waitedMs: number, options: { cause?: unknown } = {}) {
    super('store_busy', `Another process held the store for ${waitedMs} ms. Nothing was written. Try again.`, {
      retryable: true,
      ...options,
    })
  }
}

export class StoreClosedError extends PerdureError {
  constructor() {
    super('store_closed', 'The store is closed. Open a new one.')
  }
}

export class SchemaTooNewError extends PerdureError {
  constructor(found: number, known: number) {
    super(
      'schema_too_new',
      `The store has schema ${found}; this version knows up to ${known}. Upgrade perdure on this node.`,
    )
  }
}

export class MissingDependencyError extends PerdureError {
  constructor(packageName: string, what: string, cause: unknown) {
    super('missing_dependency', `${what} needs the package '${packageName}'. Run: npm install ${packageName}`, {
      cause,
    })
  }
}
