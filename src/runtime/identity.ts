import { TenantMissingError } from '../errors/runtime-errors.ts'
import type { BuiltinScope } from '../scope/create-scope.ts'
import type { Scope } from '../scope/register.ts'

export type IdentityOptions = {
  /** The tenant of a scope. Where it is given, a scope without one is refused. Default: the scope's `tenant`, else 'default'. */
  readonly tenant?: ((scope: Scope) => string) | undefined
  /** The id that is stored of whoever acts. Default: the scope's `user`, else 'system' or 'anonymous'. */
  readonly who?: ((scope: Scope) => string) | undefined
}

/** What is stored of a scope: which wall it is behind, and who it was. */
export type Identity = { readonly tenant: string; readonly who: string; readonly scope: Scope }

export function identify(scope: Scope, options: IdentityOptions): Identity {
  return { tenant: tenantOf(scope, options), who: whoOf(scope, options), scope }
}

function tenantOf(scope: Scope, { tenant }: IdentityOptions): string {
  if (!tenant) return (scope as Partial<BuiltinScope>).tenant ?? 'default'
  const name: unknown = tenant(scope)
  if (typeof name !== 'string' || name === '') throw new TenantMissingError()
  return name
}

function whoOf(scope: Scope, { who }: IdentityOptions): string {
  if (who) return who(scope)
  const { user, system } = scope as Partial<BuiltinScope>
  return user ?? (system ? 'system' : 'anonymous')
}
