import { expect, test, vi } from 'vitest'
import { createScope, isSystemScope, systemScope } from './scope.ts'

test('a scope holds the user, the tenant and what the app assigned', () => {
  const scope = createScope({ user: 'ada', tenant: 'acme', assigns: { plan: 'pro' } })
  expect(scope).toEqual({ user: 'ada', tenant: 'acme', assigns: { plan: 'pro' }, system: false })
  expect(isSystemScope(scope)).toBe(false)
})

test('a scope needs nothing', () => {
  expect(createScope()).toEqual({ assigns: {}, system: false })
})

test('a scope cannot be changed', () => {
  const scope = createScope({ user: 'ada', assigns: { plan: 'pro' } })
  expect(() => Object.assign(scope, { user: 'eve' })).toThrow(TypeError)
  expect(() => Object.assign(scope.assigns, { plan: 'free' })).toThrow(TypeError)
})

test('an unknown key is refused and the known ones are listed', () => {
  expect(() => createScope({ tennant: 'acme' } as never)).toThrow(
    /unknown key 'tennant' \(known: user, tenant, assigns\)/,
  )
})

test.each([[{ user: '' }], [{ user: 7 }], [{ tenant: '' }], [{ assigns: null }], [null], ['ada']])(
  'a scope of %j is refused',
  (attributes) => {
    expect(() => createScope(attributes as never)).toThrow(expect.objectContaining({ code: 'invalid_definition' }))
  },
)

test('a scope cannot call itself the system', () => {
  expect(() => createScope({ system: true } as never)).toThrow(/unknown key 'system'/)
})

test('the system scope has a tenant and no user', () => {
  expect(systemScope('acme')).toEqual({ tenant: 'acme', assigns: {}, system: true })
  expect(systemScope()).not.toHaveProperty('user')
  expect(isSystemScope(systemScope())).toBe(true)
})

test('the system scope of another copy of the package is known, and a copy of the scope is not', async () => {
  const known = systemScope('acme')
  vi.resetModules()
  const other = await import('./scope.ts')
  expect(other.isSystemScope).not.toBe(isSystemScope)
  expect([other.isSystemScope(known), isSystemScope(other.systemScope())]).toEqual([true, true])
  for (const copy of [{ ...known }, structuredClone(known)]) expect(other.isSystemScope(copy)).toBe(false)
})

test('the system has a tenant that is a name, or none', () => {
  expect(systemScope('acme')).toMatchObject({ tenant: 'acme', system: true })
  expect('tenant' in systemScope()).toBe(false)
  for (const tenant of ['', 7])
    expect(() => systemScope(tenant as never)).toThrow("'tenant' must be a string that is not empty")
})
