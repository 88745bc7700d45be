import { describe, expect, test } from 'vitest'
import { createScope, type Scope, systemScope } from '../define/scope.ts'
import { identify } from './scopes.ts'

const ann = createScope({ user: 'ann', tenant: 'acme' })

describe('without settings', () => {
  test('tenant and user of the scope are who acts', () => {
    expect(identify(ann, {})).toEqual({ tenant: 'acme', who: 'ann', scope: ann })
  })

  test('a scope without a user is anonymous in the default tenant', () => {
    expect(identify(createScope(), {})).toMatchObject({ tenant: 'default', who: 'anonymous' })
    expect(identify(systemScope(), {})).toMatchObject({ tenant: 'default', who: 'system' })
    expect(identify(systemScope('acme'), {})).toMatchObject({ tenant: 'acme', who: 'system' })
  })
})

test.each([
  ['null', null],
  ['5', 5],
  ['nothing', undefined],
  ['a name', 'ann'],
])('a scope that is no object is refused: %s', (_, scope) => {
  for (const options of [{}, { tenant: () => 'acme', who: () => 'ann' }]) {
    expect(() => identify(scope as never, options)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  }
})

test.each([
  [{ user: 5 }, 'invalid_argument', "'user' of the scope"],
  [{ user: '' }, 'invalid_argument', "'user' of the scope"],
  [{ tenant: 5 }, 'invalid_id', 'The tenant '],
  [{ tenant: '' }, 'invalid_id', 'The tenant '],
])('a scope whose user or tenant is no name is refused, and which it was is said: %j', (scope, code, what) => {
  const message = expect.stringContaining(what)
  expect(() => identify(scope as never, {})).toThrow(expect.objectContaining({ code, message }))
})

describe('an app that tells', () => {
  const options = { tenant: (scope: Scope) => scope.assigns['org'] as string, who: (scope: Scope) => `u/${scope.user}` }

  test('says which tenant, and what is stored of a person', () => {
    const scope = createScope({ user: 'ann', assigns: { org: 'acme' } })
    expect(identify(scope, options)).toEqual({ tenant: 'acme', who: 'u/ann', scope })
  })

  test('refuses what it tells of a person when that is no name', () => {
    for (const told of [undefined, '', 7, null]) {
      const who = () => told as string
      const message = expect.stringContaining("'who' of the scope")
      expect(() => identify(ann, { who })).toThrow(expect.objectContaining({ code: 'invalid_argument', message }))
    }
  })

  test('refuses the ids that stand for no user', () => {
    for (const reserved of ['system', 'anonymous']) {
      const message = expect.stringContaining(`must not be '${reserved}'`)
      expect(() => identify(ann, { who: () => reserved })).toThrow(
        expect.objectContaining({ code: 'invalid_argument', message }),
      )
    }
  })

  test('is not asked about the system, which has no user', () => {
    const who = () => 'ann'
    expect(identify(systemScope('acme'), { who })).toMatchObject({ who: 'system' })
  })

  test('asks who a scope is that only reads like the system', () => {
    const claims = { system: true, user: 'eve' } as unknown as Scope
    expect(identify(claims, { who: (scope) => String(scope.user) })).toMatchObject({ who: 'eve' })
  })

  test('refuses a scope that has no tenant', () => {
    for (const org of [undefined, '', 7, null]) {
      const scope = createScope({ user: 'ann', assigns: { org } })
      expect(() => identify(scope, options)).toThrow(expect.objectContaining({ code: 'tenant_missing' }))
    }
  })
})
