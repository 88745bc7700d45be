import { expect, test } from 'vitest'
import { cancelled, continued, ended, said, stateOf } from '../../../test/log/story.ts'
import { InvalidArgumentError, StoreError } from '../../base/errors/store-errors.ts'
import { childIdOf, childTurnIdOf } from '../../log/child-call.ts'
import type { ConversationState } from '../../log/state.ts'
import type { Change } from '../../store/change.ts'
import type { TenantStore } from '../../store/store.ts'
import type { WorkingSets } from '../../store/working-sets.ts'
import { admitChild, callOfChild, parentCallOf } from './child-calls.ts'

const id = childIdOf('c1')
const parent = { conversationId: 'p', callId: 'c1' }
const turnId = childTurnIdOf('c1')

function storeOf(rows: {
  conversations?: Record<string, object | Error>
  calls?: Record<string, object>
  parent?: ConversationState
}) {
  const done: string[] = []
  const commits: Change[] = []
  const store = {
    async getConversation(id: string) {
      const found = rows.conversations?.[id] ?? null
      if (found instanceof Error) throw found
      return found
    },
    getToolCall: async (callId: string) => rows.calls?.[callId] ?? null,
    deleteConversation: async (id: string) => void done.push(`deleted ${id}`),
    commit: async (_id: string, change: Change) => void commits.push(change),
  } as unknown as TenantStore
  const workingSets = { load: async () => ({ state: rows.parent ?? stateOf([said('t1')]) }) } as unknown as WorkingSets
  return { store, done, commits, parts: { store, workingSets, tenant: 'acme' } }
}

const damaged = Object.assign(new InvalidArgumentError('row', 'is damaged'), { code: 'conversation_unreadable' })

test('a child is known by its row, and where that is damaged or not there yet, by the row of its call', async () => {
  const child = { conversations: { [id]: { parent: { id: 'p', callId: 'c1' } } } }
  expect(await parentCallOf(storeOf(child).store, id)).toEqual(parent)
  const calls = { c1: { executor: 'agent', conversationId: 'p' } }
  expect(await parentCallOf(storeOf({ conversations: { [id]: damaged }, calls }).store, id)).toEqual(parent)
  expect(await parentCallOf(storeOf({ calls }).store, id)).toBe(null)
  expect(await callOfChild(storeOf({ calls }).store, id)).toEqual(parent)
  expect(await callOfChild(storeOf(child).store, id)).toEqual(parent)
})

test('what only has the name of a child is none, and neither is what has another', async () => {
  const named = (parent: object | null) => storeOf({ conversations: { [id]: { parent } } }).store
  expect(await parentCallOf(named(null), id)).toBe(null)
  expect(await parentCallOf(named({ id: 'p', at: 3 }), id)).toBe(null)
  expect(await parentCallOf(named({ id: 'p', callId: 'c2' }), id)).toBe(null)
  const server = storeOf({ calls: { c1: { executor: 'server', conversationId: 'p' } } })
  expect(await callOfChild(server.store, id)).toBe(null)
  expect([await parentCallOf(server.store, 'chat'), await callOfChild(server.store, 'chat')]).toEqual([null, null])
})

test('a store that fails is told', async () => {
  const { store } = storeOf({ conversations: { [id]: new StoreError('away') } })
  await expect(parentCallOf(store, id)).rejects.toMatchObject({ code: 'store_failed' })
})

test('a child that is waited for goes on, and so does one whose turn is over', async () => {
  const open = stateOf([said(turnId)])
  const pending = storeOf({ calls: { c1: { status: 'pending' } } })
  expect(await admitChild(pending.parts, id, open, parent)).toBe(true)
  const over = storeOf({})
  expect(await admitChild(over.parts, id, continued(open, [ended(turnId)]), parent)).toBe(true)
  expect([pending.done, pending.commits, over.done, over.commits]).toEqual([[], [], [], []])
})

test('a child whose parent was deleted is deleted; one whose call has ended otherwise is asked to end, once', async () => {
  const open = stateOf([said(turnId)])
  const gone = storeOf({})
  expect(await admitChild(gone.parts, id, open, parent)).toBe(false)
  expect(gone.done).toEqual([`deleted ${id}`])
  for (const rows of [{ calls: { c1: { status: 'denied' } } }, { conversations: { p: {} } }]) {
    const { parts, done, commits } = storeOf(rows)
    expect(await admitChild(parts, id, open, parent)).toBe(true)
    expect([done, commits]).toEqual([
      [],
      [{ events: [{ type: 'cancel_requested', content: { turnId, who: 'system' } }], key: 'cancel/c1' }],
    ])
  }
  const asked = storeOf({ calls: { c1: { status: 'denied' } } })
  await admitChild(asked.parts, id, stateOf([said(turnId), cancelled(turnId)]), parent)
  expect(asked.commits).toHaveLength(1)
})

test('a child that has said nothing yet and whose parent is being cancelled is asked to end for the one who cancelled', async () => {
  const rows = { calls: { c1: { status: 'pending' } }, parent: stateOf([said('t1'), cancelled('t1')]) }
  const fresh = storeOf(rows)
  expect(await admitChild(fresh.parts, id, stateOf([said(turnId)]), parent)).toBe(true)
  expect(fresh.commits).toEqual([
    { events: [{ type: 'cancel_requested', content: { turnId, who: expect.any(String) } }], key: 'cancel/c1' },
  ])
})
