import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import type { TurnState } from '../log/state.ts'

/**
 * Where an application registers its own types: `declare module 'perdure' { interface Register { scope: AppScope } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: apps merge their members into it, which only an interface allows
export interface Register {}

/**
 * The identity that acts: the application's own type if it registered one. Never stored. A turn that continues after a
 * crash gets the result of `restoreScope`, or a system scope without it: see `isSystemScope`.
 */
export type Scope = Register extends { readonly scope: infer AppScope } ? AppScope : BuiltinScope

/**
 * Provides scopes. They are never stored: a scope is the one that acted in this process, or is restored from its id.
 */
export type ScopeSource = {
  /** The scope of the user who opened the turn. */
  ofTurn(turn: TurnState): Promise<Scope>
  /**
   * The scope that acts now in the turn: of the user who opened it, or the system scope while the turn goes on because
   * the deadline of a call has passed.
   */
  ofStep(turn: TurnState): Promise<Scope>
  /** The scope that let the call run: of the approver, otherwise of the step. */
  ofCall(turn: TurnState, callId: string): Promise<Scope>
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
  if (tenant !== undefined && !isName(tenant)) problems.push("'tenant' must be a string that is not empty")
  if (typeof assigns !== 'object' || assigns === null) problems.push("'assigns' must be an object")
  if (problems.length > 0) throw new DefinitionError('The scope', problems)
  return scopeOf({ ...(user === undefined ? {} : { user }), ...tenantOf(tenant), assigns, system: false })
}

/** The identity of recovery and expiry: a tenant without a user. */
export function systemScope(tenant?: string): SystemScope {
  if (tenant !== undefined && !isName(tenant)) {
    throw new DefinitionError('The system scope', ["'tenant' must be a string that is not empty"])
  }
  return scopeOf({ ...tenantOf(tenant), assigns: {}, system: true })
}

/** Whether the scope belongs to recovery or expiry, not to a user. */
export function isSystemScope(scope: unknown): scope is SystemScope {
  return typeof scope === 'object' && scope !== null && 'system' in scope && scope.system === true
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
