import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import type { TurnState } from '../log/state.ts'

/** Where an app tells its own types: `declare module 'perdure' { interface Register { scope: AppScope } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: apps merge their members into it, which only an interface allows
export interface Register {}

/**
 * Who acts: the app's own type when it registered one. Never stored.
 * A turn that goes on after a crash has what `restoreScope` gives, and without it a system scope: see `isSystemScope`.
 */
export type Scope = Register extends { readonly scope: infer AppScope } ? AppScope : BuiltinScope

/** Identities are never stored: they come from who acted in this process, or are restored from the id that was. */
export type ScopeSource = {
  ofTurn(turn: TurnState): Promise<Scope>
  /** Of whoever let the call run: the one who approved it, else the one whose turn it is. */
  ofCall(turn: TurnState, callId: string): Promise<Scope>
  /** Where nobody has a turn: null only in the tenant of those who have none, so that nothing of a tenant is taken for nobody's. */
  ofNobody(): Promise<Scope | null>
}

/** Who acts, for apps that have no type of their own for it. */
export type BuiltinScope = {
  readonly user?: string
  readonly tenant?: string
  /** Whatever the app wants its tools and hooks to find. */
  readonly assigns: Readonly<Record<string, unknown>>
  /** True when nobody in particular acts: recovery, expiry. */
  readonly system: boolean
}

/** The scope of recovery and expiry. */
export type SystemScope = BuiltinScope & { readonly user?: never; readonly system: true }

/** What `createScope` takes. */
export type ScopeAttributes = {
  readonly user?: string | undefined
  readonly tenant?: string | undefined
  readonly assigns?: Readonly<Record<string, unknown>> | undefined
}

/** Who acts, to be passed to `runtime.as`. Throws `DefinitionError` on unknown keys: a misspelt tenant must not become no tenant. */
export function createScope(attributes: ScopeAttributes = {}): BuiltinScope {
  const { user, tenant, assigns = {} } = Object(attributes) as ScopeAttributes
  const problems = unknownKeys(attributes, ['user', 'tenant', 'assigns'])
  if (user !== undefined && !isName(user)) problems.push("'user' must be a string that is not empty")
  if (tenant !== undefined && !isName(tenant)) problems.push("'tenant' must be a string that is not empty")
  if (typeof assigns !== 'object' || assigns === null) problems.push("'assigns' must be an object")
  if (problems.length > 0) throw new DefinitionError('The scope', problems)
  return scopeOf({ ...(user === undefined ? {} : { user }), ...tenantOf(tenant), assigns, system: false })
}

/** The identity of recovery and expiry: a tenant, and no user. */
export function systemScope(tenant?: string): SystemScope {
  if (tenant !== undefined && !isName(tenant)) {
    throw new DefinitionError('The system scope', ["'tenant' must be a string that is not empty"])
  }
  return scopeOf({ ...tenantOf(tenant), assigns: {}, system: true })
}

/** Whether nobody in particular acts. */
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
