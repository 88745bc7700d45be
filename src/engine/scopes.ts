import { type Clock, withTimeout } from '../base/clock.ts'
import { readArgument, readOptions, shown } from '../base/errors/read-options.ts'
import { ScopeMissingError, ScopeNotRestorableError, TenantMissingError } from '../base/errors/runtime-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { Lru } from '../base/lru.ts'
import {
  type BuiltinScope,
  isReservedUser,
  isRestorable,
  isSystemScope,
  reserved,
  restoredScope,
  type Scope,
  type ScopeSource,
  systemScope,
} from '../define/scope.ts'
import { callPosition } from '../log/fold-call.ts'
import type { CallState, TurnState } from '../log/state.ts'
import { checkId } from '../store/checks.ts'
import type { Fork } from '../store/claim-due.ts'
import type { ConversationRef } from '../store/records.ts'
import { readRecord } from '../store/rows.ts'
import type { TenantStore } from '../store/store.ts'

/** Rebuilds the scope of a user from what is stored of it: the tenant, and the user's id. Has 30 seconds. */
export type RestoreScope = (tenant: string, who: string) => Scope | Promise<Scope>

const restoreTimeoutMs = 30_000

/** How scopes are rebuilt, and what belongs to a scope that fits. */
export type ScopeOptions = IdentityOptions & { readonly restoreScope?: RestoreScope | undefined }

/**
 * Rebuilds scopes from the log. A scope that a verb was called with never reaches a tool, so one process and many act alike, before and after a crash.
 */
export class Scopes {
  readonly #options: ScopeOptions
  readonly #clock: Clock
  /** Of the runtime itself, by tenant: asked for at every step of its turns. */
  readonly #system = new Lru<Scope>({ entries: 1_000 })

  constructor(options: ScopeOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  #systemOf(tenant: string): Scope {
    const known = this.#system.get(tenant)
    if (known) return known
    const scope = systemScope(tenant) as Scope
    this.#system.set(tenant, scope)
    return scope
  }

  /** Refuses a scope that says more than its tenant and its user, where the application has no way to rebuild the rest. */
  checkRestorable(scope: Scope): void {
    if (this.#options.restoreScope || isSystemScope(scope) || readArgument('scope', () => isRestorable(scope))) return
    throw new ScopeNotRestorableError()
  }

  /** The scope of the user who started a session, for what its flow sends to agents. */
  ofSession(tenant: string, id: string, who: string): Promise<Scope> {
    return this.#rebuilt({ tenant, id }, who)
  }

  /** For as long as one process works on a conversation: the scope of a turn is rebuilt once in that time. `forker`: see `forkerOf`. */
  forConversation(tenant: string, id: string, forker: Forker | null): ScopeSource {
    let known: { readonly turnId: string; readonly who: string; readonly scope: Promise<Scope> } | null = null
    const rebuilt = ({ turnId }: TurnState, who: string): Promise<Scope> => {
      if (who === system) return Promise.resolve(this.#systemOf(tenant))
      if (known?.turnId !== turnId || known.who !== who) {
        known = { turnId, who, scope: this.#rebuilt({ tenant, id }, who) }
      }
      return known.scope
    }
    return {
      canFail: this.#options.restoreScope !== undefined,
      ofTurn: (turn) => rebuilt(turn, actorOfTurn(turn, forker)),
      ofStep: (turn) => rebuilt(turn, actorOfStep(turn, forker)),
      ofCall: (turn, callId) => rebuilt(turn, actorOfCall(turn, callId, forker)),
      whoOfStep: (turn) => actorOfStep(turn, forker),
      whoOfCall: (turn, callId) => actorOfCall(turn, callId, forker),
      ofSystem: async () => (tenant === 'default' ? null : this.#restored({ tenant, id }, system)),
    }
  }

  async #rebuilt(ref: ConversationRef, who: string): Promise<Scope> {
    return who === system ? this.#systemOf(ref.tenant) : this.#restored(ref, who)
  }

  /** Rejects with `ScopeMissingError`. Never gives the scope of another tenant. */
  async #restored({ tenant, id }: ConversationRef, who: string): Promise<Scope> {
    const { restoreScope } = this.#options
    if (!restoreScope) return restoredScope(tenant, who) as Scope
    try {
      const restored = withTimeout(Promise.resolve(restoreScope(tenant, who)), restoreTimeoutMs, this.#clock, () => {
        throw new Error(`restoreScope took longer than ${restoreTimeoutMs} ms`)
      })
      const scope: unknown = await restored
      checkScope(scope)
      const found = tenantOf(scope, this.#options)
      if (found !== tenant) throw new Error(`restoreScope gave a scope of the tenant '${found}', not of '${tenant}'`)
      return scope
    } catch (error) {
      throw new ScopeMissingError(id, who, { cause: error })
    }
  }
}

/** The id of the runtime itself in the log. */
const system = 'system'

/** Who forked a conversation, and the last event that was copied. */
export type Forker = { readonly who: string; readonly at: number }

/**
 * The user for whom the copied turns of a fork continue: the one who forked it, because the person whose turn it was asked for nothing in the copy. Null if
 * this is not a fork, or if the application made it.
 */
export async function forkerOf(store: Pick<TenantStore, 'getConversation'>, id: string): Promise<Forker | null> {
  const record = await readRecord(store, id)
  const at = record?.parent?.at
  return at === undefined ? null : forkerIn({ at, owner: record?.owner ?? null })
}

/** The same, from the row that a claim returned. */
export function forkerIn(fork: Fork | null): Forker | null {
  const who = fork?.owner ?? system
  return fork === null || who === system ? null : { who, at: fork.at }
}

export function isCopied({ firstSeq }: Pick<TurnState, 'firstSeq'>, forker: Forker | null): forker is Forker {
  return forker !== null && firstSeq <= forker.at
}

/** The id of the user for whom the turn continues. */
export function actorOfTurn(turn: Pick<TurnState, 'items' | 'firstSeq'>, forker: Forker | null): string {
  return isCopied(turn, forker) ? forker.who : openerOfTurn(turn)
}

/** The id of the user whose message opened the turn. A turn without its first message has no user. */
export function openerOfTurn({ items }: Pick<TurnState, 'items'>): string {
  return items.find((item) => item.type === 'user')?.who ?? 'anonymous'
}

/**
 * The system, from when a call of the turn has expired until a person says or answers something in it, or forks it; else the user whose turn it is. Decided from
 * what is stored, so that every process decides alike. `before`: as it was at that seq.
 */
function actorOfStep(turn: TurnState, forker: Forker | null, before = Number.POSITIVE_INFINITY): string {
  let expired = 0
  let acted = forker?.at ?? 0
  for (const { rounds } of turn.calls) {
    for (const { kind, resolution } of rounds) {
      if (!resolution || resolution.seq > before) continue
      if (resolution.status === 'expired') expired = Math.max(expired, resolution.seq)
      else if (kind !== 'sub_agent') acted = Math.max(acted, resolution.seq)
    }
  }
  if (expired <= acted) return actorOfTurn(turn, forker)
  const isAddressed = turn.items.some((item) => item.type === 'user' && item.seq > expired && item.seq < before)
  return isAddressed ? actorOfTurn(turn, forker) : system
}

/** The user who opened the turn, where a person has let the call run; else who acted in the turn when the call was made. */
function actorOfCall(turn: TurnState, callId: string, forker: Forker | null): string {
  const call = turn.calls[callPosition(turn.calls, callId)]
  const isGranted = call?.rounds.some(
    ({ kind, resolution }) => kind !== 'sub_agent' && resolution?.status === 'resolved',
  )
  return isGranted ? actorOfTurn(turn, forker) : actorOfStep(turn, forker, call?.seq)
}

/** Who approved the call, and when; null where no approval was needed. */
export function approvalOf({
  rounds,
}: Pick<CallState, 'rounds'>): { readonly who: string; readonly at: number } | null {
  const granted = rounds.find(({ kind, resolution }) => kind === 'approval' && resolution?.status === 'resolved')
  return granted?.resolution ? { who: granted.resolution.who, at: granted.resolution.at } : null
}

export type IdentityOptions = {
  /** The tenant of a scope. Where it is given, a scope without one is refused. Default: the scope's `tenant`, else 'default'. */
  readonly tenant?: ((scope: Scope) => string) | undefined
  /**
   * The id that is stored of the user who acts; not 'system' or 'anonymous', which stand for no user. Not asked about `systemScope()`. Default: the scope's
   * `user`, else one of those two.
   */
  readonly who?: ((scope: Scope) => string) | undefined
}

/** What is stored of a scope: its tenant, and the id of the user. */
export type Identity = { readonly tenant: string; readonly who: string; readonly scope: Scope }

export function identify(scope: Scope, options: IdentityOptions): Identity {
  checkScope(scope)
  return { tenant: tenantOf(scope, options), who: whoOf(scope, options), scope }
}

function tenantOf(scope: Scope, { tenant }: IdentityOptions): string {
  if (!tenant) {
    const { tenant: named = 'default' } = readOptions('scope', scope as Partial<BuiltinScope>, ['tenant'])
    checkId('tenant', named)
    return named
  }
  const name: unknown = tenant(scope)
  if (typeof name !== 'string' || name === '') throw new TenantMissingError()
  return name
}

const onlySystemScope =
  'says that it is the system, which only a scope of `systemScope()` is; name the user, or pass on what `systemScope()` returned'

function whoOf(scope: Scope, { who }: IdentityOptions): string {
  if (isSystemScope(scope)) return system
  const { user, system: isSystem } = who
    ? { user: who(scope) }
    : readOptions('scope', scope as Partial<BuiltinScope>, ['user', 'system'])
  if (user === undefined && isSystem) throw new InvalidArgumentError('scope', onlySystemScope)
  if (user === undefined && !who) return 'anonymous'
  const name = who ? 'who' : 'user'
  if (typeof user !== 'string' || user === '') {
    throw new InvalidArgumentError(name, 'of the scope must be a string that is not empty')
  }
  if (isReservedUser(user)) throw new InvalidArgumentError(name, `of the scope must not be '${user}': ${reserved}`)
  return user
}

/** A scope is an object of the application. A bare name, or nothing, would stand for every user. */
export function checkScope(scope: unknown): asserts scope is Scope {
  if (typeof scope === 'object' && scope !== null) return
  throw new InvalidArgumentError('scope', `must be an object that says who acts, not ${shown(scope)}`)
}
