import { readOptions, shown } from '../base/errors/read-options.ts'
import { TenantMissingError } from '../base/errors/runtime-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { Lru } from '../base/lru.ts'
import { type BuiltinScope, type Scope, type ScopeSource, systemScope } from '../define/scope.ts'
import { callPosition } from '../log/fold-call.ts'
import type { TurnState } from '../log/state.ts'
import { checkId } from '../store/checks.ts'
import type { ConversationRef } from '../store/records.ts'

/** Rebuilds the scope of a user from what is stored of it: the tenant, and the user's id. */
export type RestoreScope = (tenant: string, who: string) => Scope | Promise<Scope>

const most = 10_000

/** Scopes of the users who acted in this process, while their turn may still need them. After a crash they are restored from the stored id. */
export class Scopes {
  readonly #remembered = new Lru<Scope>({ entries: most })
  readonly #restore: RestoreScope | undefined

  constructor(restore: RestoreScope | undefined) {
    this.#restore = restore
  }

  /** Only for the user who opened the turn, as the log says: others may steer it, or try its key. */
  rememberTurn(tenant: string, id: string, turnId: string, who: string, scope: Scope): void {
    this.#remember(JSON.stringify([tenant, id, turnId, who]), scope)
  }

  /** Must be called before the resolution is committed: the call may run at once. */
  rememberAnswer(tenant: string, id: string, callId: string, round: number, who: string, scope: Scope): void {
    this.#remember(JSON.stringify([tenant, id, callId, round, who]), scope)
  }

  rememberSession(tenant: string, id: string, who: string, scope: Scope): void {
    this.#remember(JSON.stringify([tenant, id, who]), scope)
  }

  /** The scope of the user who started a session, for what its flow sends to agents. */
  ofSession(tenant: string, id: string, who: string): Promise<Scope> {
    return this.#recall(JSON.stringify([tenant, id, who]), tenant, who)
  }

  /** The user who let a call run acts in the child agent it starts, too. Returns the stored id of that user. */
  handOn(from: ConversationRef, turn: TurnState, callId: string, child: { id: string; turnId: string }): string {
    const { key, who } = actorOfCall(from, turn, callId)
    const scope = this.#remembered.get(key)
    if (scope !== undefined) this.rememberTurn(from.tenant, child.id, child.turnId, who, scope)
    return who
  }

  forConversation(tenant: string, id: string): ScopeSource {
    const recall = async (actor: Actor): Promise<Scope> => {
      return actor === system ? (systemScope(tenant) as Scope) : await this.#recall(actor.key, tenant, actor.who)
    }
    return {
      ofTurn: (turn) => recall(actorOfTurn({ tenant, id }, turn)),
      ofStep: (turn) => recall(actorOfStep({ tenant, id }, turn)),
      ofCall: (turn, callId) => recall(actorOfCall({ tenant, id }, turn, callId)),
      ofSystem: async () => (tenant === 'default' ? null : this.#rebuilt(tenant, 'system')),
    }
  }

  #remember(key: string, scope: Scope): void {
    this.#remembered.set(key, scope)
  }

  async #recall(key: string, tenant: string, who: string): Promise<Scope> {
    const remembered = this.#remembered.get(key)
    return remembered ?? this.#rebuilt(tenant, who)
  }

  async #rebuilt(tenant: string, who: string): Promise<Scope> {
    return this.#restore ? await this.#restore(tenant, who) : (systemScope(tenant) as Scope)
  }
}

/** Whose scope it is, and what it is remembered by. */
type Actor = { readonly key: string; readonly who: string }

function actorOfTurn({ tenant, id }: ConversationRef, turn: TurnState): Actor {
  const who = turn.items.find((item) => item.type === 'user')?.who ?? 'system'
  return { key: JSON.stringify([tenant, id, turn.turnId, who]), who }
}

/** Never restored: a deadline is the runtime's own. */
const system: Actor = { key: '', who: 'system' }

/**
 * The system, from when a call of the turn has expired until a person says or answers something in it; else the user whose turn it is. Decided from the log, so
 * that every process decides alike. `before`: as it was at that seq.
 */
function actorOfStep(ref: ConversationRef, turn: TurnState, before = Number.POSITIVE_INFINITY): Actor {
  let expired = 0
  let acted = 0
  for (const { rounds } of turn.calls) {
    for (const { kind, resolution } of rounds) {
      if (!resolution || resolution.seq > before) continue
      if (resolution.status === 'expired') expired = Math.max(expired, resolution.seq)
      else if (kind !== 'sub_agent') acted = Math.max(acted, resolution.seq)
    }
  }
  if (expired <= acted) return actorOfTurn(ref, turn)
  const isAddressed = turn.items.some((item) => item.type === 'user' && item.seq > expired && item.seq < before)
  return isAddressed ? actorOfTurn(ref, turn) : system
}

/** The user who approved it, else who acted in the turn when the call was made. */
function actorOfCall(ref: ConversationRef, turn: TurnState, callId: string): Actor {
  const call = turn.calls[callPosition(turn.calls, callId)]
  const granted = call?.rounds.findLast((round) => round.resolution?.status === 'resolved')
  if (!granted?.resolution) return actorOfStep(ref, turn, call?.seq)
  const { who } = granted.resolution
  return { key: JSON.stringify([ref.tenant, ref.id, callId, granted.round, who]), who }
}

export type IdentityOptions = {
  /** The tenant of a scope. Where it is given, a scope without one is refused. Default: the scope's `tenant`, else 'default'. */
  readonly tenant?: ((scope: Scope) => string) | undefined
  /** The id that is stored of the user who acts. Default: the scope's `user`, else 'system' or 'anonymous'. */
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

function whoOf(scope: Scope, { who }: IdentityOptions): string {
  const { user, system } = who
    ? { user: who(scope) }
    : readOptions('scope', scope as Partial<BuiltinScope>, ['user', 'system'])
  if (user === undefined && !who) return system ? 'system' : 'anonymous'
  if (typeof user !== 'string' || user === '') {
    throw new InvalidArgumentError(who ? 'who' : 'user', 'of the scope must be a string that is not empty')
  }
  return user
}

/** A scope is an object of the application. A bare name, or nothing, would stand for every user. */
export function checkScope(scope: unknown): asserts scope is Scope {
  if (typeof scope === 'object' && scope !== null) return
  throw new InvalidArgumentError('scope', `must be an object that says who acts, not ${shown(scope)}`)
}
