import { type Clock, withTimeout } from '../../base/clock.ts'
import { readMembers, shown } from '../../base/errors/read-options.ts'
import { AuthorizeFailedError } from '../../base/errors/runtime-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { callOfChild } from '../../engine/child/child-calls.ts'
import type { Identity } from '../../engine/scopes.ts'
import { isId } from '../../store/checks.ts'
import type { ConversationRecord } from '../../store/records.ts'
import { readRecord } from '../../store/rows.ts'
import type { TenantStore } from '../../store/store.ts'
import type { AboutCall } from './asked-call.ts'
import type { Authorize, AuthorizeAction, AuthorizedCall, AuthorizeVerdict } from './authorize.ts'

/** How often an open stream asks whether it may continue. */
export const recheckMs = 30_000

/** How long `authorize` is waited for. */
const patienceMs = 10_000

type GateParts = {
  readonly authorize: Authorize
  /** Only when a verb is called: a scope may name no tenant. */
  readonly identity: () => Identity
  readonly store: () => TenantStore
  /** What `authorize` learns about a call. */
  readonly callOf: (id: string, about: AboutCall) => Promise<AuthorizedCall | null>
  readonly clock: Clock
  readonly logger: Logger
}

/** What a list may show: everything, nothing, what a user has opened, or what passes when it is judged one by one. */
export type Listing = 'all' | 'none' | 'each' | { readonly owner: string }

/** Asks `authorize` for one identity. Every verb of that identity passes it before it reads or writes anything. */
export class Gate {
  readonly #parts: GateParts

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  get identity(): Identity {
    return this.#parts.identity()
  }

  get clock(): Clock {
    return this.#parts.clock
  }

  /** Judges a conversation or a session as its root. */
  async judge(
    action: AuthorizeAction,
    id: string,
    about?: AboutCall,
  ): Promise<{ readonly isAllowed: boolean; readonly isNew: boolean }> {
    const conversation = await this.#rootOf(id)
    const call = about && conversation ? await this.callOf(id, about) : null
    const isAllowed = await this.judgeRecord(action, conversation, call)
    return { isAllowed, isNew: conversation === null }
  }

  async allows(action: AuthorizeAction, id: string, about?: AboutCall): Promise<boolean> {
    return (await this.judge(action, id, about)).isAllowed
  }

  /** For verbs that need a conversation: allowed, and there is one. Otherwise they would reach one that another user opens after this was asked. */
  async shows(action: AuthorizeAction, id: string, about?: AboutCall): Promise<boolean> {
    const { isAllowed, isNew } = await this.judge(action, id, about)
    return isAllowed && !isNew
  }

  /** A call of the conversation, or of a child agent of it. */
  callOf(id: string, about: AboutCall): Promise<AuthorizedCall | null> {
    return this.#parts.callOf(id, about)
  }

  /** Judges an approval by what will run. */
  async allowsEdited(id: string, call: AuthorizedCall): Promise<boolean> {
    return this.judgeRecord('approve', await this.#rootOf(id), call)
  }

  /** Judges an item of the inbox by what it shows: its row. */
  async lists(conversationId: string, callId: string): Promise<boolean> {
    const root = await this.#rootOf(conversationId)
    return this.judgeRecord('read', root, await this.#rowIn(callId, root))
  }

  /** Must be given the record of a root. */
  async judgeRecord(
    action: AuthorizeAction,
    conversation: ConversationRecord | null,
    call: AuthorizedCall | null = null,
  ): Promise<boolean> {
    const verdict = await this.#ask(action, conversation, call)
    if (typeof verdict === 'boolean') return verdict
    if (verdict === 'all') return true
    return verdict.owner === (conversation ? conversation.owner : this.identity.who)
  }

  /** Judges a row that was already read: a child agent by its root, or by its own row if the root is gone. */
  async reads(record: ConversationRecord): Promise<boolean> {
    const isRoot = record.parent?.callId === undefined
    return this.judgeRecord('read', isRoot ? record : ((await this.#rootOf(record.id)) ?? record))
  }

  async listing(): Promise<Listing> {
    const verdict = await this.#ask('list', null, null)
    if (verdict === true) return 'each'
    return verdict === false ? 'none' : verdict
  }

  /** Whether an id belongs to a conversation that the caller may not read, or will belong to its child agent. */
  async hides(id: string): Promise<boolean> {
    const root = await this.#rootOf(id)
    return root !== null && !(await this.judgeRecord('read', root))
  }

  /** Asks every 30 seconds whether the conversation may still be read; calls back once when not, with the error where asking failed. */
  onLost(id: string, lost: (failure: unknown) => void): () => void {
    let isStopped = false
    let cancel = (): void => {}
    const ask = async (): Promise<void> => {
      const [isAllowed, failure] = await this.allows('read', id).then(
        (allowed) => [allowed, null] as const,
        (error: unknown) => [false, error] as const,
      )
      if (isStopped) return
      if (isAllowed) again()
      else lost(failure)
    }
    const again = (): void => {
      cancel = this.clock.after(recheckMs, () => void ask())
    }
    again()
    return () => {
      isStopped = true
      cancel()
    }
  }

  /** The conversation that callers talk to. For a child agent whose parent was deleted: the topmost ancestor that exists. */
  async #rootOf(id: string): Promise<ConversationRecord | null> {
    const store = this.#parts.store()
    const parent = await callOfChild(store, id)
    const above = parent && (await this.#rootOf(parent.conversationId))
    return above ?? readRecord(store, id)
  }

  /** A call in another conversation is not described. */
  async #rowIn(callId: string, root: ConversationRecord | null): Promise<AuthorizedCall | null> {
    const row = root && isId(callId) ? await this.#parts.store().getToolCall(callId) : null
    if (!row || (await this.#rootOf(row.conversationId))?.id !== root?.id) return null
    return { callId: row.id, tool: row.name, kind: row.kind, args: row.args }
  }

  async #ask(
    action: AuthorizeAction,
    conversation: ConversationRecord | null,
    call: AuthorizedCall | null,
  ): Promise<AuthorizeVerdict> {
    const { authorize, clock, logger } = this.#parts
    const request = { scope: this.identity.scope, action, conversation, ...(call ? { call } : {}) }
    try {
      const answer: unknown = authorize(request)
      const isPending = typeof (answer as PromiseLike<unknown> | null)?.then === 'function'
      return readVerdict(isPending ? await withTimeout(Promise.resolve(answer), patienceMs, clock, tooLate) : answer)
    } catch (error) {
      logger.error('authorize failed, and the verb was refused', { action, id: conversation?.id ?? null, error })
      throw new AuthorizeFailedError(action, error)
    }
  }
}

function tooLate(): never {
  throw new Error(`it took longer than ${patienceMs} ms`)
}

/** Anything else is a mistake, such as a forgotten `return` or a filter whose owner is undefined, and must not open anything. */
function readVerdict(given: unknown): AuthorizeVerdict {
  if (typeof given === 'boolean' || given === 'all') return given
  if (typeof given === 'object' && given !== null) {
    const { owner } = readMembers('verdict', given as { owner?: unknown }, ['owner'])
    if (isId(owner)) return { owner }
  }
  throw new Error(`it returned ${shown(given)}; return true, false, 'all' or { owner: <user id> }`)
}
