import { readMembers, shown } from '../base/errors/read-given.ts'
import { TenantMissingError } from '../base/errors/runtime-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { BuiltinScope } from '../define/create-scope.ts'
import type { Scope } from '../define/register.ts'
import { checkId } from '../store/checks.ts'

export type IdentityOptions = {
  /** The tenant of a scope. Where it is given, a scope without one is refused. Default: the scope's `tenant`, else 'default'. */
  readonly tenant?: ((scope: Scope) => string) | undefined
  /** The id that is stored of whoever acts. Default: the scope's `user`, else 'system' or 'anonymous'. */
  readonly who?: ((scope: Scope) => string) | undefined
}

/** What is stored of a scope: which wall it is behind, and who it was. */
export type Identity = { readonly tenant: string; readonly who: string; readonly scope: Scope }

export function identify(scope: Scope, options: IdentityOptions): Identity {
  checkScope(scope)
  return { tenant: tenantOf(scope, options), who: whoOf(scope, options), scope }
}

function tenantOf(scope: Scope, { tenant }: IdentityOptions): string {
  if (!tenant) {
    const { tenant: named = 'default' } = readMembers('scope', scope as Partial<BuiltinScope>, ['tenant'])
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
    : readMembers('scope', scope as Partial<BuiltinScope>, ['user', 'system'])
  if (user === undefined && !who) return system ? 'system' : 'anonymous'
  if (typeof user !== 'string' || user === '') {
    throw new InvalidArgumentError(who ? 'who' : 'user', 'of the scope must be a string that is not empty')
  }
  return user
}

/** Who acts is an object of the app's: a bare name, or nothing, would be everybody. */
export function checkScope(scope: unknown): asserts scope is Scope {
  if (typeof scope === 'object' && scope !== null) return
  throw new InvalidArgumentError('scope', `must be an object that says who acts, not ${shown(scope)}`)
}
