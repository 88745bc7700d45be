import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import type { TurnState } from '../log/state.ts'

/**
 * Where an application registers its own types: `declare module 'perdure' { interface Register { scope: AppScope } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: apps merge their members into it, which only an interface allows
export interface Register {}

/**
 * The identity that acts: the application's own type if it registered one. Never stored: hooks and tools get the result of
 * `restoreScope`, or without it a scope of the stored tenant and user, in every process alike.
 */
export type Scope = Register extends { readonly scope: infer AppScope } ? AppScope : BuiltinScope

/** Provides scopes. They are never stored: each is rebuilt from the tenant and the id of the user in the log. */
export type ScopeSource = {
  /** The scope of the user who opened the turn; in a fork, of the user who forked it, where the turn was copied. */
  ofTurn(turn: TurnState): Promise<Scope>
  /**
   * The scope that acts now in the turn: of the user who opened it, or the system scope while the turn continues because the deadline of a call has passed.
   */
  ofStep(turn: TurnState): Promise<Scope>
  /** The scope that the call acts with: of the user who opened the turn, or of the step that made it where no person approved it. */
  ofCall(turn: TurnState, callId: string): Promise<Scope>
  /** The id of the user whose scope `ofStep` gives. */
  whoOfStep(turn: TurnState): string
  /** The id of the user whose scope `ofCall` gives. */
  whoOfCall(turn: TurnState, callId: string): string
  /** Whether rebuilding a scope may fail, because code of the application does it. */
  readonly canFail: boolean
  /** For work outside turns. Null only without a tenant, so that a tenant's work never runs without its scope. */
  ofSystem(): Promise<Scope | null>
}

/** The identity that acts, for applications without a scope type of their own. */
export type BuiltinScope = {
  readonly user?: string
  readonly tenant?: string
  /** The application's data for its tools and hooks. */
  readonly assigns: Readonly<Record<string, unknown>>
  /** True for recovery and expiry, where no user acts. */
  readonly system: boolean
  /** True for a scope that was rebuilt from tenant and user, because there is no `restoreScope`. */
  readonly restored?: true
}

/** The scope of recovery and expiry. */
export type SystemScope = BuiltinScope & { readonly user?: never; readonly system: true }

/** The attributes of `createScope`. */
export type ScopeAttributes = {
  readonly user?: string | undefined
  readonly tenant?: string | undefined
  readonly assigns?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Creates a scope for `runtime.as`. Throws `DefinitionError` on unknown keys, because a misspelt tenant must not become
 * no tenant.
 */
export function createScope(attributes: ScopeAttributes = {}): BuiltinScope {
  const { user, tenant, assigns = {} } = Object(attributes) as ScopeAttributes
  const problems = unknownKeys(attributes, ['user', 'tenant', 'assigns'])
  if (user !== undefined && !isName(user)) problems.push("'user' must be a string that is not empty")
  if (isReservedUser(user)) problems.push(`'user' must not be '${user}': ${reserved}`)
  if (tenant !== undefined && !isName(tenant)) problems.push("'tenant' must be a string that is not empty")
  if (typeof assigns !== 'object' || assigns === null) problems.push("'assigns' must be an object")
  if (problems.length > 0) throw new DefinitionError('The scope', problems)
  return scopeOf({ ...(user === undefined ? {} : { user }), ...tenantOf(tenant), assigns, system: false })
}

/** The ids that the log has for no person: a user with one of them would be taken for the runtime, or for every user without a name. */
export function isReservedUser(user: unknown): user is 'system' | 'anonymous' {
  return user === 'system' || user === 'anonymous'
}

/** Follows the refused id in an error. */
export const reserved = 'the log uses that id for the runtime itself, or for users without an id; give the user another'

/** A scope as it can be rebuilt without the application: of a user, or of one without an id. */
export function restoredScope(tenant: string, who: string): BuiltinScope {
  if (who === 'system') return systemScope(tenant)
  const user = who === 'anonymous' ? {} : { user: who }
  return scopeOf({ ...user, ...(tenant === 'default' ? {} : { tenant }), assigns: {}, system: false, restored: true })
}

/** Whether `restoredScope` gives all that the scope says: it has a tenant and a user at most. */
export function isRestorable(scope: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(scope)
  if (prototype !== Object.prototype && prototype !== null) return false
  const { assigns = {}, ...rest } = scope as Partial<BuiltinScope>
  const isPlain = Reflect.ownKeys(rest).every((key) => plainKeys.includes(key))
  return isPlain && typeof assigns === 'object' && Object.keys(assigns).length === 0
}

const plainKeys: readonly (string | symbol)[] = ['user', 'tenant', 'system', 'restored']

/** The identity of recovery and expiry: a tenant without a user. */
export function systemScope(tenant?: string): SystemScope {
  if (tenant !== undefined && !isName(tenant)) {
    throw new DefinitionError('The system scope', ["'tenant' must be a string that is not empty"])
  }
  const scope: SystemScope = scopeOf({ ...tenantOf(tenant), assigns: {}, system: true })
  systemScopes.add(scope)
  return scope
}

const systemScopesKey = Symbol.for('perdure.systemScopes')
const shared = globalThis as { [systemScopesKey]?: WeakSet<object> }
/** Copies of this package in one process share it, so that each knows the scopes of the others. */
const systemScopes = (shared[systemScopesKey] ??= new WeakSet())

/** Whether the scope belongs to recovery or expiry, not to a user: `systemScope` made it. A copy of one, or a claim of a token that reads `system: true`, does not. */
export function isSystemScope(scope: unknown): scope is SystemScope {
  return typeof scope === 'object' && scope !== null && systemScopes.has(scope)
}

function scopeOf<T extends BuiltinScope>(scope: T): T {
  return Object.freeze({ ...scope, assigns: Object.freeze({ ...scope.assigns }) })
}

function tenantOf(tenant: string | undefined): { tenant?: string } {
  return tenant === undefined ? {} : { tenant }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
