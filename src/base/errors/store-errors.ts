import { PerdureError } from './perdure-error.ts'

/** A limit, bound, timeout or option is not valid. */
export class InvalidArgumentError extends PerdureError {
  constructor(name: string, problem: string) {
    super('invalid_argument', `'${name}' ${problem}. Correct the argument.`)
  }
}

/** An id, name or key that no store accepts. */
export class InvalidIdError extends PerdureError {
  constructor(name: string, problem: string) {
    super('invalid_id', `The ${name} ${problem}. Use 1 to 255 bytes of well-formed UTF-8 without control characters.`)
  }
}

/** No such conversation in this tenant. A conversation of another tenant looks the same. */
export class ConversationNotFoundError extends PerdureError {
  constructor(id: string) {
    super(
      'conversation_not_found',
      `There is no conversation '${id}'. Check the id and the tenant, or send it a first message.`,
    )
  }
}

/** The id was deleted, so no snapshot brings it back. A new conversation may use it. */
export class ConversationDeletedError extends PerdureError {
  constructor(id: string) {
    super(
      'conversation_deleted',
      `'${id}' was deleted, so it is not restored from a snapshot. Send it a first message to begin an empty conversation, or use another id.`,
    )
  }
}

/** No such call in this conversation or tenant. A call of another conversation looks the same. */
export class CallNotFoundError extends PerdureError {
  constructor(callId: string) {
    super('call_not_found', `There is no tool call '${callId}'. Check its id, the conversation and the tenant.`)
  }
}

/**
 * The row of the conversation is damaged: `columns` do not contain what Perdure wrote. Lists still show the
 * conversation.
 */
export class ConversationUnreadableError extends PerdureError {
  readonly columns: readonly string[]

  /** `id` is null when only the row is known; a caller that knows the id throws the error again with it. */
  constructor(id: string | null, columns: readonly string[]) {
    const whose = id === null ? 'a conversation' : `conversation '${id}'`
    const what = columns.map((column) => `'${column}'`).join(' and ')
    super(
      'conversation_unreadable',
      `The row of ${whose} is damaged: ${what} cannot be read. Run perdure doctor: it shows what --repair can rebuild from the log, and what to restore from a backup.`,
    )
    this.columns = columns
  }
}

/** The id of a fork is taken. */
export class ConversationExistsError extends PerdureError {
  constructor(id: string) {
    super('conversation_exists', `A conversation '${id}' already exists. Choose another id.`)
  }
}

/**
 * An event that only the lease holder may write came without its lease, while a lease is live or a call is pending.
 * Nothing was written.
 */
export class OwnerOnlyError extends PerdureError {
  constructor(id: string, type: string) {
    super(
      'owner_only',
      `Only the lease holder of '${id}' may write an event of type '${type}' while a lease is live or a call is pending. Pass the epoch of the lease (acquireLease); to end a call, use resolveToolCall.`,
    )
  }
}

type Span = { readonly fromSeq: number; readonly toSeq: number }

/** A summary overlaps an existing one without replacing all of it. Nothing was written. */
export class SummaryOverlapError extends PerdureError {
  constructor(id: string, given: Span, known: Span) {
    super(
      'summary_overlap',
      `The summary of ${given.fromSeq} to ${given.toSeq} in '${id}' overlaps the one of ${known.fromSeq} to ${known.toSeq} without covering it. Start after ${known.toSeq}, or begin at ${known.fromSeq} or before and end after ${known.toSeq}.`,
    )
  }
}

/** Turns of the log were withdrawn after a summary was planned, and the summary may tell of them. Nothing was written. */
export class SummarySupersededError extends PerdureError {
  constructor(id: string, plannedOn: number, supersededAt: number) {
    super(
      'summary_superseded',
      `Turns of '${id}' were withdrawn at ${supersededAt}, after the log up to ${plannedOn} was summarised. Read the log again, summarise what it shows now, and pass its last seq as plannedOn.`,
    )
  }
}

/** A session of OpenAI Agents does not end with the items that an operation replaces. Nothing was written. */
export class SessionChangedError extends PerdureError {
  constructor(id: string) {
    super(
      'session_changed',
      `The history of the session '${id}' does not end with the items that the operation replaces. Nothing was changed. Read the items again, and send a new operation.`,
    )
  }
}

/** The same key was sent with different content. */
export class KeyReusedError extends PerdureError {
  /** The turn that the first message with the key opened; null where it opened none. */
  readonly turnId: string | null

  constructor(id: string, key: string, turnId: string | null = null) {
    const made = turnId === null ? '' : `, which made the turn '${turnId}'`
    super(
      'key_reused',
      `The key '${key}' was already used in '${id}' for another request${made}. Use a new key for a new request.`,
    )
    this.turnId = turnId
  }
}

/**
 * The disk or the database failed. `ambiguous`: the write may have been made. Read the log, or send the same key again.
 */
export class StoreError extends PerdureError {
  readonly ambiguous: boolean

  constructor(message: string, options: { cause?: unknown; ambiguous?: boolean; retryable?: boolean } = {}) {
    super('store_failed', message, { retryable: true, ...options })
    this.ambiguous = options.ambiguous ?? false
  }
}

/** Other processes held the store for longer than `busyTimeoutMs`. Nothing was written. */
export class StoreBusyError extends PerdureError {
  constructor(waitedMs: number, options: { cause?: unknown } = {}) {
    super('store_busy', `Another process held the store for ${waitedMs} ms. Nothing was written. Try again.`, {
      retryable: true,
      ...options,
    })
  }
}

/** The store was closed. Nothing was written. */
export class StoreClosedError extends PerdureError {
  constructor() {
    super('store_closed', 'The store is closed. Open a new one.')
  }
}

/** A newer version of Perdure has migrated this store. */
export class SchemaTooNewError extends PerdureError {
  constructor(found: number, known: number) {
    super(
      'schema_too_new',
      `The store has schema ${found}; this version knows up to ${known}. Upgrade perdure on this node.`,
    )
  }
}

/** Perdure 0.1 has written this store, which no later version migrates. It was not changed. `place` is what the command line takes as `--store`. */
export class SchemaTooOldError extends PerdureError {
  constructor(found: number, place: string) {
    super(
      'schema_too_old',
      `The store '${place}' has schema ${found} of Perdure 0.1, which this version does not read. It was not changed. Run: ` +
        `npx perdure export old.jsonl --store '${place}' where 0.1 is installed, then npx perdure import old.jsonl --store <new store> with this version.`,
    )
  }
}

/** An optional package is not installed. */
export class MissingDependencyError extends PerdureError {
  constructor(packageName: string, what: string, cause: unknown) {
    super('missing_dependency', `${what} needs the package '${packageName}'. Run: npm install ${packageName}`, {
      cause,
    })
  }
}

export class UpkeepUnsupportedError extends PerdureError {
  constructor() {
    super(
      'upkeep_unsupported',
      'This store does not support upkeep: it cannot be exported, imported into or examined. Use the tools of its backend.',
    )
  }
}

/** The store has no outbox, which subscribers and after-hooks need. */
export class OutboxUnsupportedError extends PerdureError {
  constructor() {
    super(
      'outbox_unsupported',
      'This store has no outbox, which subscribers and after-hooks need. Use a store whose driver offers `outbox`, or leave them out.',
    )
  }
}

/** The store does not count slots and budgets, which limits need. */
export class LimitsUnsupportedError extends PerdureError {
  constructor() {
    super(
      'limits_unsupported',
      'This store cannot keep limits: its driver does not offer `accounts`. Use a store whose driver does, or leave `limits` and `account` out.',
    )
  }
}

/** The store keeps no bulk jobs. */
export class JobsUnsupportedError extends PerdureError {
  constructor() {
    super(
      'jobs_unsupported',
      'This store keeps no bulk jobs. Use a store whose driver offers `jobs`, or call the verbs of each conversation.',
    )
  }
}

/** The store keeps no registry of nodes and no pauses. */
export class SteeringUnsupportedError extends PerdureError {
  constructor() {
    super(
      'steering_unsupported',
      'This store keeps no registry of nodes and no pauses. Use a store whose driver offers `nodes` and `pauses`.',
    )
  }
}

/**
 * `line` counts from 1. Conversations before this line were imported; nothing of the conversation that it belongs to
 * was.
 */
export class ImportInvalidError extends PerdureError {
  readonly line: number

  constructor(line: number, problem: string, options: { cause?: unknown } = {}) {
    super(
      'import_invalid',
      `Line ${line} of the export is not valid: ${problem}. Nothing of its conversation was written. Export again, then import with skipExisting (--skip-existing).`,
      options,
    )
    this.line = line
  }
}

export class ImportTooNewError extends PerdureError {
  constructor(found: number, known: number) {
    super(
      'import_too_new',
      `The export has version ${found}; this version of perdure reads up to ${known}. Nothing was written; upgrade perdure.`,
    )
  }
}

export class ImportExistsError extends PerdureError {
  constructor(tenant: string, what: string) {
    super(
      'import_exists',
      `The store already has ${what} of tenant '${tenant}', and nothing of it was written. Pass skipExisting (--skip-existing) to keep it, or import into an empty store.`,
    )
  }
}
