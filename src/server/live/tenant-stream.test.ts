import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import type { ListedConversation } from '../../runtime/read/lists.ts'
import type { ChangedRow, ChangesFor, TenantChanges } from '../../runtime/read/tenant-changes.ts'
import type { ConversationRecord } from '../../store/records.ts'
import { parsePlace, TenantFeed } from './tenant-feed.ts'
import { tenantFrames } from './tenant-stream.ts'

/** A tenant in which c1 was deleted while the client was away. */
function quietTenant(seesAll: boolean) {
  const asked: number[] = []
  const changes: TenantChanges = {
    tenant: 'acme',
    onChange: () => () => {},
    since: async (at) => {
      asked.push(at)
      return ['c1']
    },
    rows: async () => [],
  }
  const caller: ChangesFor = {
    ...{ changes, seesAll: async () => seesAll },
    ...{ allows: async () => seesAll, reads: async () => seesAll },
  }
  return { asked, caller }
}

async function firstFrame(seesAll: boolean, after: Parameters<typeof tenantFrames>[1]) {
  const { asked, caller } = quietTenant(seesAll)
  const feed = new TenantFeed(caller.changes, silentLogger, () => {})
  const { signal } = new AbortController()
  const frames = tenantFrames({ feed, caller, watched: [], heartbeatMs: 10, signal }, after)
  const { value } = await frames.next()
  await frames.return()
  feed.close()
  return { asked, text: new TextDecoder().decode(value!) }
}

const place = { at: 1_700_000_000_000, feed: '0123456789', index: 7 }

test('a client that was on another server is told what the store says has changed, with a minute of overlap', async () => {
  const { asked, text } = await firstFrame(true, place)
  expect(asked).toEqual([place.at - 60_000])
  expect(text).toContain('{"type":"gone","id":"c1"}')
})

test('a client without a place, and one that does not see everything, begin anew, and the store is not asked', async () => {
  for (const [seesAll, after] of [
    [true, null],
    [false, place],
  ] as const) {
    const { asked, text } = await firstFrame(seesAll, after)
    expect(asked).toEqual([])
    expect(text).toMatch(/^id: [0-9a-z]+@[0-9a-f]{10}\.\d+\ndata: \{"type":"reset"\}\n\n$/)
    expect(parsePlace(/^id: (.*)\n/.exec(text)![1]!)).toMatchObject({ index: 0 })
  }
})

test('what is not a place is none', () => {
  for (const text of ['', '1', 'x', '1@zz.1', `${'1'.repeat(10)}@0123456789.1`, '1@0123456789.x', ' 1@0123456789.1'])
    expect(parsePlace(text)).toBeNull()
})

const rowOf = (id: string, settings: ConversationRecord['settings'] = {}): ChangedRow => {
  const record = { id, settings, owner: 'ann' } as ConversationRecord
  return { record, listed: { conversation: { id } as ListedConversation }, calls: [] }
}

test('rows for clients that were away are read a few at once, for one client after another', async () => {
  const ids = Array.from({ length: 45 }, (_, n) => `c${n}`)
  const asked: number[] = []
  let now = 0
  let most = 0
  const { caller } = quietTenant(true)
  const changes: TenantChanges = {
    ...caller.changes,
    since: async () => ids,
    rows: async (some) => {
      asked.push(some.length)
      most = Math.max(most, ++now)
      await new Promise((resolve) => setTimeout(resolve, 1))
      now -= 1
      return some.map((id) => rowOf(id))
    },
  }
  const feed = new TenantFeed(changes, silentLogger, () => {})
  const { signal } = new AbortController()
  const all = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const frames = tenantFrames({ feed, caller: { ...caller, changes }, watched: [], heartbeatMs: 10, signal }, place)
      const texts: string[] = []
      for (const _ of ids) texts.push(new TextDecoder().decode((await frames.next()).value!))
      await frames.return()
      return texts.map((text) => /"id":"(c\d+)"/.exec(text)?.[1])
    }),
  )
  feed.close()
  expect(all).toEqual([ids, ids, ids])
  expect(most).toBe(1)
  expect(asked.toSorted()).toEqual([20, 20, 20, 20, 20, 20, 5, 5, 5])
})

test('a feed forgets old changes whose rows are large, and a client that needs them begins anew', async () => {
  let tell: (id: string) => void = () => {}
  const settings = { text: 'x'.repeat(1_000_000) }
  const { caller } = quietTenant(true)
  const changes: TenantChanges = {
    ...caller.changes,
    onChange: (listener) => {
      tell = listener
      return () => {}
    },
    rows: async (some) => some.map((id) => rowOf(id, settings)),
  }
  const feed = new TenantFeed(changes, silentLogger, () => {})
  const grown = new Promise<void>((resolve) => feed.join(() => feed.lastIndex === 30 && resolve()))
  for (let n = 0; n < 30; n += 1) tell(`c${n}`)
  await grown
  expect([feed.after(0), feed.after(20)]).toEqual([null, null])
  expect(feed.after(25)).toHaveLength(5)
  feed.close()
})
