import { expect, test } from 'vitest'
import { called, replied, resolved, said, started, stateOf, succeeded, suspended } from '../../test/log/story.ts'
import { createScope, type Scope, systemScope } from '../define/scope.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { approvalOf, type ScopeOptions, Scopes } from './scopes.ts'

/** Opened by ann, as everything in these stories. */
const [plain] = stateOf([said('t1')]).turns
const asking = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
const [approved] = stateOf([
  ...asking,
  suspended('c1', 'approval'),
  resolved('c1', 'approval', 'resolved', { value: true, who: 'boss' }),
]).turns

const scopesOf = (options: ScopeOptions = {}) => new Scopes(options, fakeClock())
const restoring: ScopeOptions = { restoreScope: (tenant, who) => createScope({ tenant, user: `restored ${who}` }) }

test('a scope is rebuilt from tenant and user, and says so', async () => {
  const scope = await scopesOf().forConversation('acme', 'c1', null).ofTurn(plain!)
  expect(scope).toEqual({ tenant: 'acme', user: 'ann', assigns: {}, system: false, restored: true })
  const ofDefault = await scopesOf().forConversation('default', 'c1', null).ofTurn(plain!)
  expect(ofDefault).toEqual({ user: 'ann', assigns: {}, system: false, restored: true })
})

test('a scope is rebuilt by the application where it can, also by a promise', async () => {
  const { ofTurn, canFail } = scopesOf(restoring).forConversation('acme', 'c1', null)
  expect(await ofTurn(plain!)).toEqual(createScope({ tenant: 'acme', user: 'restored ann' }))
  expect(canFail).toBe(true)
  expect(scopesOf().forConversation('acme', 'c1', null).canFail).toBe(false)
  const later = scopesOf({ restoreScope: async (tenant, user) => createScope({ tenant, user }) })
  expect(await later.forConversation('acme', 'c1', null).ofTurn(plain!)).toMatchObject({ user: 'ann' })
})

test('a call that was approved acts for the user who opened the turn', async () => {
  const { ofCall, ofTurn } = scopesOf(restoring).forConversation('acme', 'c1', null)
  expect(await ofCall(approved!, 'c1')).toMatchObject({ user: 'restored ann' })
  expect(await ofTurn(approved!)).toMatchObject({ user: 'restored ann' })
  expect(await ofCall(plain!, 'none')).toMatchObject({ user: 'restored ann' })
})

test('the approval of a call tells who gave it and when', () => {
  expect(approvalOf(approved!.calls[0]!)).toEqual({ who: 'boss', at: expect.any(Number) })
  const [waiting] = stateOf([...asking, suspended('c1', 'approval')]).turns
  expect(approvalOf(waiting!.calls[0]!)).toBeNull()
  const answered = [...asking.slice(0, 2), called('c1', { executor: 'human' }), suspended('c1', 'elicitation')]
  const [asked] = stateOf([...answered, resolved('c1', 'elicitation', 'resolved', { who: 'boss' })]).turns
  expect(approvalOf(asked!.calls[0]!)).toBeNull()
})

test('a user without an id is rebuilt without one, and the system as the system', async () => {
  const [unnamed] = stateOf([said('t1', {}, 'anonymous')]).turns
  const [own] = stateOf([said('t1', {}, 'system')]).turns
  const { ofTurn } = scopesOf().forConversation('acme', 'c1', null)
  expect(await ofTurn(unnamed!)).toEqual({ tenant: 'acme', assigns: {}, system: false, restored: true })
  expect(await ofTurn(own!)).toEqual(systemScope('acme'))
  expect(await scopesOf(restoring).forConversation('acme', 'c1', null).ofTurn(own!)).toEqual(systemScope('acme'))
})

test('a turn without its first message has no user', async () => {
  const headless = { ...plain!, items: [] }
  expect(await scopesOf().forConversation('acme', 'c1', null).ofTurn(headless)).not.toHaveProperty('user')
  expect(await scopesOf().forConversation('acme', 'c1', null).ofTurn(headless)).toMatchObject({ system: false })
})

test.each<[string, () => unknown]>([
  ['throws', () => Promise.reject(new Error('the directory is down'))],
  ['finds no user', () => undefined],
  ['gives a name', () => 'ann'],
  ['gives a scope of another tenant', () => createScope({ tenant: 'other', user: 'ann' })],
])('a scope is missing where restoreScope %s', async (_, restore) => {
  const scopes = scopesOf({ restoreScope: () => restore() as Scope })
  const { ofTurn, ofCall } = scopes.forConversation('acme', 'c1', null)
  const missing = { code: 'scope_missing', retryable: true, message: expect.stringContaining("'ann'") }
  await expect(ofTurn(plain!)).rejects.toMatchObject(missing)
  await expect(ofCall(approved!, 'c1')).rejects.toMatchObject(missing)
})

test('restoreScope has thirty seconds', async () => {
  const clock = fakeClock()
  const scopes = new Scopes({ restoreScope: () => new Promise(() => {}) }, clock)
  const restored = scopes.forConversation('acme', 'c1', null).ofTurn(plain!)
  const refused = expect(restored).rejects.toMatchObject({ code: 'scope_missing' })
  for (let turn = 0; turn < 10; turn++) await clock.advance(0)
  await clock.advance(30_000)
  await refused
})

test('restoreScope is asked once for a turn while a process works on it', async () => {
  let asked = 0
  const restoreScope = (tenant: string, user: string) => {
    asked += 1
    return createScope({ tenant, user })
  }
  const scopes = scopesOf({ restoreScope })
  const source = scopes.forConversation('acme', 'c1', null)
  for (const read of [source.ofTurn, source.ofStep]) await read(approved!)
  await source.ofCall(approved!, 'c1')
  expect(asked).toBe(1)
  await scopes.forConversation('acme', 'c1', null).ofTurn(approved!)
  expect(asked).toBe(2)
})

test.each([
  [createScope({ user: 'ann', assigns: { plan: 'pro' } })],
  [{ user: 'ann', role: 'admin' }],
  [new (class Person {})()],
])('a scope that says more than tenant and user needs restoreScope: %j', (scope) => {
  const refused = expect.objectContaining({ code: 'scope_not_restorable' })
  expect(() => scopesOf().checkRestorable(scope as Scope)).toThrow(refused)
  scopesOf(restoring).checkRestorable(scope as Scope)
})

test('a scope of tenant and user needs nothing', () => {
  for (const scope of [createScope(), createScope({ user: 'ann', tenant: 'acme' }), systemScope('acme')]) {
    scopesOf().checkRestorable(scope)
  }
  scopesOf().checkRestorable({ user: 'ann' } as Scope)
})

/** A call that waits for a person, whose deadline passes. */
const expired = [
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1'] }),
  called('c1', { executor: 'human' }),
  suspended('c1', 'elicitation', { expiresInMs: 1_000 }),
  resolved('c1', 'elicitation', 'expired', { who: 'system' }),
]
const goesOn = [...expired, replied('t1', 'm2', 5, { calls: ['c2'] }), called('c2')]

test('what a turn does because a deadline has passed acts with the system scope, which is not restored', async () => {
  const { ofTurn, ofStep, ofCall } = scopesOf(restoring).forConversation('acme', 'c1', null)
  const [turn] = stateOf(goesOn).turns
  expect(await ofStep(turn!)).toMatchObject({ tenant: 'acme', system: true })
  expect(await ofCall(turn!, 'c2')).toMatchObject({ tenant: 'acme', system: true })
  expect(await ofTurn(turn!)).toMatchObject({ user: 'restored ann' })
  const [later] = stateOf([...goesOn, started('c2'), succeeded('c2')]).turns
  expect(await ofStep(later!)).toMatchObject({ system: true })
})

test('after a person has said or answered something, the turn acts for the user who opened it again', async () => {
  const { ofStep, ofCall } = scopesOf().forConversation('acme', 'c1', null)
  const [steered] = stateOf([...goesOn, said('t1')]).turns
  expect(await ofStep(steered!)).toMatchObject({ user: 'ann' })
  // The call was made before.
  expect(await ofCall(steered!, 'c2')).toMatchObject({ system: true })
  const asked = called('c2', { executor: 'human' })
  const answered = [...goesOn.slice(0, -1), asked, suspended('c2', 'elicitation'), resolved('c2', 'elicitation')]
  expect(await ofStep(stateOf(answered).turns[0]!)).toMatchObject({ user: 'ann' })
})

test('a call that was made because a deadline has passed acts for the user who opened the turn once it is approved', async () => {
  const gated = [...goesOn.slice(0, -1), called('c2', { gated: true }), suspended('c2', 'approval')]
  const [turn] = stateOf([...gated, resolved('c2', 'approval', 'resolved', { value: true, who: 'boss' })]).turns
  expect(await scopesOf().forConversation('acme', 'c1', null).ofCall(turn!, 'c2')).toMatchObject({ user: 'ann' })
})

test('a call that was made before a deadline passed acts for the user who opened the turn', async () => {
  const [first, second, third, ...rest] = expired
  const [turn] = stateOf([first!, second!, third!, called('c2'), ...rest]).turns
  expect(await scopesOf().forConversation('acme', 'c1', null).ofCall(turn!, 'c2')).toMatchObject({ user: 'ann' })
})
