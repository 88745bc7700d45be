import { expect, test } from 'vitest'
import { called, replied, resolved, said, started, stateOf, succeeded, suspended } from '../../test/log/story.ts'
import { createScope } from '../define/scope.ts'
import { Scopes } from './scopes.ts'

/** Opened by ann, as everything in these stories. */
const [plain] = stateOf([said('t1')]).turns
const asking = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
const [approved] = stateOf([
  ...asking,
  suspended('c1', 'approval'),
  resolved('c1', 'approval', 'resolved', { value: true, who: 'boss' }),
]).turns

const ann = createScope({ user: 'ann' })
const boss = createScope({ user: 'boss' })

test('a turn has the scope it was opened with, for as long as this process remembers', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  expect(await scopes.forConversation('acme', 'c1').ofTurn(plain!)).toBe(ann)
})

test('what others did with a turn does not change whose it is', async () => {
  const scopes = new Scopes((tenant, who) => createScope({ tenant, user: `restored ${who}` }))
  scopes.rememberTurn('acme', 'c1', 't1', 'boss', boss)
  expect(await scopes.forConversation('acme', 'c1').ofTurn(plain!)).toMatchObject({ user: 'restored ann' })
})

test('a call that was approved has the scope of the user who approved it', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  scopes.rememberAnswer('acme', 'c1', 'c1', 1, 'boss', boss)
  const { ofCall, ofTurn } = scopes.forConversation('acme', 'c1')
  expect(await ofCall(approved!, 'c1')).toBe(boss)
  expect(await ofTurn(approved!)).toBe(ann)
  expect(await ofCall(plain!, 'none')).toBe(ann)
})

test('an answer that was tried and lost does not lend its scope', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberAnswer('acme', 'c1', 'c1', 1, 'bob', createScope({ user: 'bob' }))
  expect(await scopes.forConversation('acme', 'c1').ofCall(approved!, 'c1')).toMatchObject({ system: true })
})

test('what is not remembered is restored from the stored id, also by a promise', async () => {
  const scopes = new Scopes(async (tenant, who) => createScope({ tenant, user: who }))
  const { ofTurn, ofCall } = scopes.forConversation('acme', 'c1')
  expect(await ofTurn(plain!)).toMatchObject({ tenant: 'acme', user: 'ann' })
  expect(await ofCall(approved!, 'c1')).toMatchObject({ tenant: 'acme', user: 'boss' })
})

test('without a way to restore it is a system scope of that tenant', async () => {
  const scope = await new Scopes(undefined).forConversation('acme', 'c1').ofTurn(plain!)
  expect(scope).toMatchObject({ tenant: 'acme', system: true })
  expect(scope.user).toBeUndefined()
})

test('conversations and tenants do not share scopes', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  expect(await scopes.forConversation('acme', 'c2').ofTurn(plain!)).toMatchObject({ system: true })
  expect(await scopes.forConversation('other', 'c1').ofTurn(plain!)).toMatchObject({ system: true })
})

test('only so many are remembered', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  for (let n = 0; n < 10_000; n++) scopes.rememberTurn('acme', `other-${n}`, 't1', 'ann', ann)
  expect(await scopes.forConversation('acme', 'c1').ofTurn(plain!)).toMatchObject({ system: true })
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
  const scopes = new Scopes((tenant, who) => createScope({ tenant, user: `restored ${who}` }))
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  const { ofTurn, ofStep, ofCall } = scopes.forConversation('acme', 'c1')
  const [turn] = stateOf(goesOn).turns
  expect(await ofStep(turn!)).toMatchObject({ tenant: 'acme', system: true })
  expect(await ofCall(turn!, 'c2')).toMatchObject({ tenant: 'acme', system: true })
  expect(await ofTurn(turn!)).toBe(ann)
  const [later] = stateOf([...goesOn, started('c2'), succeeded('c2')]).turns
  expect(await ofStep(later!)).toMatchObject({ system: true })
})

test('after a person has said or answered something, the turn acts for the user who opened it again', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  const { ofStep, ofCall } = scopes.forConversation('acme', 'c1')
  const [steered] = stateOf([...goesOn, said('t1')]).turns
  expect(await ofStep(steered!)).toBe(ann)
  // The call was made before.
  expect(await ofCall(steered!, 'c2')).toMatchObject({ system: true })
  const asked = called('c2', { executor: 'human' })
  const answered = [...goesOn.slice(0, -1), asked, suspended('c2', 'elicitation'), resolved('c2', 'elicitation')]
  expect(await ofStep(stateOf(answered).turns[0]!)).toBe(ann)
})

test('a call that was made before a deadline passed acts for the user who opened the turn', async () => {
  const scopes = new Scopes(undefined)
  scopes.rememberTurn('acme', 'c1', 't1', 'ann', ann)
  const [first, second, third, ...rest] = expired
  const [turn] = stateOf([first!, second!, third!, called('c2'), ...rest]).turns
  expect(await scopes.forConversation('acme', 'c1').ofCall(turn!, 'c2')).toBe(ann)
})
