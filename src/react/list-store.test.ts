import { expect, test, vi } from 'vitest'
import { ServerUnreachableError } from '../base/errors/server-errors.ts'
import type { Client } from '../client/create-client.ts'
import type { RemoteRecord } from '../client/pages.ts'
import type { InboxItem } from '../runtime/read/lists.ts'
import { InboxStore } from './inbox-store.ts'
import type { Change, Link, Listener } from './link.ts'
import { conversationsList, ListStore } from './list-store.ts'
import { Tab } from './tab.ts'

const pageSize = 3

test('pages are read as they are asked for, and all of them again after a reset', async () => {
  const rows = makeRows(8)
  const { store, say, reads } = list(rows)
  await say({ type: 'reset' })
  expect(shown(store)).toEqual(['c8', 'c7', 'c6'])
  expect(store.live.value).toMatchObject({ status: 'live', hasMore: true, total: null })
  await store.loadMore()
  const before = store.live.value.items
  rows[7] = { ...rows[7]!, title: 'changed' }
  await say({ type: 'reset' })
  expect(reads()).toBe(4)
  expect(store.live.value.items.map((row, index) => row === before[index])).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
  ])
  await store.loadMore()
  expect(store.live.value).toMatchObject({ hasMore: false, total: 8 })
  expect(store.live.value.items[7]).toMatchObject({ title: 'changed' })
})

test('a row that changed is replaced in its place without a request, and one that no longer matches goes', async () => {
  const { store, say, reads } = list(makeRows(5), { status: 'idle' })
  await say({ type: 'reset' })
  const [first, , third] = store.live.value.items
  await say(changed({ ...store.live.value.items[1]!, title: 'new title' }))
  expect(store.live.value.items[1]).toMatchObject({ title: 'new title' })
  expect(store.live.value.items[0]).toBe(first)
  expect(store.live.value.items[2]).toBe(third)
  await say(changed({ ...first!, status: 'active' }))
  await say({ type: 'gone', id: third!.id })
  expect(shown(store)).toEqual(['c4'])
  expect(reads()).toBe(1)
})

test('a new row is read with the first page, and the pages after it stay', async () => {
  const rows = makeRows(7)
  const { store, say, reads } = list(rows)
  await say({ type: 'reset' })
  await store.loadMore()
  rows.unshift(row(8))
  await say(changed(rows[0]!))
  await vi.waitFor(() => expect(shown(store)).toEqual(['c8', 'c7', 'c6', 'c5', 'c4', 'c3', 'c2']), { timeout: 20_000 })
  expect(reads()).toBe(3)
  await store.loadMore()
  expect(shown(store).at(-1)).toBe('c1')
  expect(new Set(shown(store)).size).toBe(8)
})

test('a change that comes while the list is read is not lost to an older answer', async () => {
  const rows = makeRows(2)
  const { store, say, reads, gate } = list(rows)
  await say({ type: 'reset' })
  const open = gate()
  await say({ type: 'reset' })
  rows[0] = { ...rows[0]!, title: 'new title' }
  await say(changed(rows[0]))
  open()
  await vi.waitFor(() => expect(reads()).toBe(3), { timeout: 20_000 })
  await vi.waitFor(() => expect(store.live.value.items[0]).toMatchObject({ title: 'new title' }), { timeout: 20_000 })
})

test('what was read stays while the server cannot be reached', async () => {
  const { store, say, lose } = list(makeRows(2))
  await say({ type: 'reset' })
  lose(new ServerUnreachableError('down'))
  expect(store.live.value.status).toBe('reconnecting')
  expect(shown(store)).toEqual(['c2', 'c1'])
  await say({ type: 'reset' })
  expect(store.live.value).toMatchObject({ status: 'live', error: null })
})

test('a page that could not be read is refused to who asked for it, and nothing else changes', async () => {
  const { store, say, fail } = list(makeRows(5))
  await say({ type: 'reset' })
  const before = store.live.value
  fail(new ServerUnreachableError('down'))
  await expect(store.loadMore()).rejects.toMatchObject({ code: 'server_unreachable' })
  expect(store.live.value).toBe(before)
  fail(null)
  await store.loadMore()
  expect(shown(store)).toEqual(['c5', 'c4', 'c3', 'c2', 'c1'])
})

test('an item that others answered leaves the inbox, and is in left with who and what', async () => {
  const waiting = [item('a'), item('b'), item('c')]
  const { link, say } = fakeLink({
    inbox: async () => ({ items: waiting.slice(), before: null }),
    conversation: () => ({
      events: async () => [
        { type: 'resolution', content: { callId: 'b', round: 1, who: 'eve', status: 'denied', value: 'no' } },
      ],
    }),
  })
  const inbox = new InboxStore(link, {})
  inbox.list.live.subscribe(() => {})
  await say({ type: 'reset' })
  const [a] = inbox.list.live.value.items
  await say(
    changed({ ...row(1), id: 'conversation' }, [
      { callId: 'a', round: 1 },
      { callId: 'c', round: 1 },
    ]),
  )
  expect(inbox.list.live.value.items.map(({ callId }) => callId)).toEqual(['a', 'c'])
  expect(inbox.list.live.value.items[0]).toBe(a)
  await vi.waitFor(() => expect(inbox.left.value).toMatchObject([{ who: 'eve', status: 'denied', value: 'no' }]), {
    timeout: 20_000,
  })
  // Answered on this page: its promise says what came of it.
  waiting.splice(0, 2)
  inbox.answered(a!)
  await say({ type: 'reset' })
  expect(inbox.left.value).toHaveLength(1)
  expect(inbox.list.live.value.total).toBe(1)
})

test('a total that the server has counted stays while pages and changes come', async () => {
  const { store, say } = list(makeRows(8), {}, 8)
  await say({ type: 'reset' })
  expect(store.live.value).toMatchObject({ hasMore: true, total: 8 })
  await store.loadMore()
  expect(store.live.value).toMatchObject({ hasMore: true, total: 8 })
  await say(changed({ ...row(7), title: 'new title' }))
  expect(store.live.value.total).toBe(8)
  await say({ type: 'gone', id: 'c7' })
  expect(store.live.value.total).toBe(7)
})

function makeRows(count: number): RemoteRecord[] {
  return Array.from({ length: count }, (_, n) => row(count - n))
}

function row(n: number): RemoteRecord {
  return { id: `c${n}`, kind: 'conversation', status: 'idle', title: null, createdAt: n } as unknown as RemoteRecord
}

function item(callId: string): InboxItem {
  return { conversationId: 'conversation', callId, round: 1, kind: 'approval', args: {} } as unknown as InboxItem
}

const changed = (record: RemoteRecord, calls: readonly { callId: string; round: number }[] = []): Change => ({
  type: 'conversation',
  record,
  calls,
})
const shown = (store: ListStore<RemoteRecord>): string[] => store.live.value.items.map(({ id }) => id)

function list(rows: RemoteRecord[], filter: { readonly status?: 'idle' } = {}, total?: number) {
  let count = 0
  let closed: Promise<void> | null = null
  let failure: unknown = null
  const world = fakeLink({
    conversations: async ({ before }: { before?: string }) => {
      count += 1
      if (failure) throw failure
      const from = before === undefined ? 0 : rows.findIndex(({ id }) => id === before) + 1
      const page = structuredClone(rows.slice(from, from + pageSize))
      await closed
      const next = from + pageSize < rows.length ? page.at(-1)!.id : null
      return { conversations: page, before: next, ...(before === undefined && total !== undefined && { total }) }
    },
  })
  const store = new ListStore(world.link, conversationsList(world.link.client, filter))
  store.live.subscribe(() => {})
  /** Answers wait until the returned function is called. */
  const gate = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    closed = promise
    return resolve
  }
  const fail = (error: unknown): void => {
    failure = error
  }
  return { ...world, store, gate, fail, reads: () => count }
}

/** A link whose changes come from a test. */
function fakeLink(client: object) {
  const listeners: Listener[] = []
  const link = {
    client: client as Client,
    tab: new Tab({}),
    listen: (listener: Listener) => {
      listeners.push(listener)
      return () => {}
    },
    retry: () => {},
  }
  const say = async (change: Change): Promise<void> => {
    for (const { onChange } of listeners) onChange(change)
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  const lose = (error: unknown): void => {
    for (const { onDisconnect } of listeners) onDisconnect(error)
  }
  return { link: link as unknown as Link, say, lose }
}
