import type { Json } from '../../base/json.ts'
import type { Scope } from '../../define/scope.ts'
import type { CallKind, ConversationRecord } from '../../store/records.ts'

/** What `authorize` is asked about: the name of the verb, or `read` and `list` for what many verbs do. */
export const actions = [
  /** Everything that shows a conversation or a session: its view, history, events, files, state, outcome, live stream, forks, snapshot. */
  'read',
  /** `modelCalls` and `explain`: what models were given. */
  'audit',
  /** `conversations`, `sessions`, `inbox` and `totals`. */
  'list',
  /** A message. With `conversation: null` it opens a new conversation. */
  'send',
  /** A session of a flow. `conversation` is null, unless the id is taken. */
  'start',
  'approve',
  'deny',
  /** Also for a question of a session: `answer`, `resolve` and `resume`. */
  'answer',
  'extendDeadline',
  'cancel',
  'note',
  'setState',
  'rename',
  'fork',
  'continue',
  'detach',
  'delete',
  'unquarantine',
] as const

/** What a caller wants to do. */
export type AuthorizeAction = (typeof actions)[number]

/** A question to `authorize`. */
export type AuthorizeRequest = {
  /** Who asks: what was given to `runtime.as`. */
  readonly scope: Scope
  readonly action: AuthorizeAction
  /** Null where there is none, and for `list`. For a child agent it is the conversation that callers talk to. */
  readonly conversation: ConversationRecord | null
  /** The waiting call that is answered or listed, if the action is about one. */
  readonly call?: AuthorizedCall
}

/** A call that waits for an answer, or a question of a session. */
export type AuthorizedCall = {
  readonly callId: string
  readonly tool: string
  readonly kind: CallKind
  /** What the tool runs with: with the changes of earlier approvals, and with those that this approval makes. */
  readonly args: Json
  /**
   * Only for an approval that changes the arguments: the arguments before the change. `authorize` is asked about `args` as given, and again as the tool's
   * schema parses them.
   */
  readonly edited?: { readonly before: Json }
}

/**
 * `false`: the conversation looks as if it did not exist. `{ owner }`: only conversations that this user opened; for a new one, only where the caller is that user.
 * `true` for `list` has each conversation judged by `read`; `'all'` lists every one.
 */
export type AuthorizeVerdict = boolean | 'all' | { readonly owner: string }

/** Decides what a scope may do inside its tenant. Must not call verbs of the same scope. A throw fails the verb with `authorize_failed`. */
export type Authorize = (request: AuthorizeRequest) => AuthorizeVerdict | Promise<AuthorizeVerdict>
