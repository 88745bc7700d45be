import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import type { ChangesFor, TenantChanges } from '../../runtime/read/tenant-changes.ts'
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
