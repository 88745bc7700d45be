import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/logger.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import type { ConversationRecord } from '../../store/records.ts'
import type { TenantChanges } from '../read/tenant-changes.ts'
import type { Authorize } from './authorize.ts'
import { allowedChanges } from './authorized-verbs.ts'
import { Gate } from './gate.ts'

const bob = { tenant: 'acme', who: 'bob', scope: createScope({ user: 'bob', tenant: 'acme' }) as Scope }
const ownOrPublic: Authorize = ({ conversation }) =>
  conversation === null || conversation.owner === 'bob' || conversation.settings['isPublic'] === true

/** What Bob may see of the changes of his tenant. `pass` lets time pass. */
function bobs(authorize: Authorize = ownOrPublic) {
  let passedMs = 0
  const clock: Clock = { ...systemClock, now: () => passedMs }
  const store = memoryStore({ logger: silentLogger }).forTenant('acme')
  const parts = { authorize, identity: () => bob, store: () => store, callOf: async () => null }
  const caller = allowedChanges(new Gate({ ...parts, clock, logger: silentLogger }), {} as TenantChanges)
  return { caller, pass: (ms: number) => void (passedMs += ms) }
}

const row = (changes: Partial<ConversationRecord>): ConversationRecord =>
  ({ id: 'x', owner: 'ann', createdAt: 1, settings: {}, parent: null, ...changes }) as ConversationRecord

test('a verdict about a deleted conversation is not one about what another user opened under its id', async () => {
  const { caller } = bobs()
  expect(await caller.allows(row({ owner: 'bob' }))).toBe(true)
  expect(await caller.allows(row({ createdAt: 2 }))).toBe(false)
  expect(await caller.reads(row({ createdAt: 2 }))).toBe(false)
  expect(await caller.allows(row({ createdAt: 2, owner: 'bob' }))).toBe(true)
})

test('a verdict that could not be had is asked for again with the next change', async () => {
  let isDown = true
  const { caller } = bobs((request) => {
    if (isDown) throw new Error('the permissions are down')
    return ownOrPublic(request)
  })
  await expect(caller.allows(row({ owner: 'bob' }))).rejects.toMatchObject({ code: 'authorize_failed' })
  isDown = false
  expect(await caller.allows(row({ owner: 'bob' }))).toBe(true)
})

test('after 30 seconds it is asked about the conversation as it is by then, and not before', async () => {
  const { caller, pass } = bobs()
  const [shown, hidden] = [row({ settings: { isPublic: true } }), row({ settings: { isPublic: false } })]
  expect(await caller.allows(shown)).toBe(true)
  pass(29_999)
  expect(await caller.allows(hidden)).toBe(true)
  pass(1)
  expect(await caller.allows(hidden)).toBe(false)
})

test('a child agent that is gone with its parent is judged by its row, and not as what does not exist', async () => {
  const { caller } = bobs()
  const child = { id: 'child', parent: { id: 'x', callId: 'call' } }
  expect(await caller.allows(row(child))).toBe(false)
  expect(await caller.allows(row({ ...child, id: 'other', owner: 'bob' }))).toBe(true)
})
