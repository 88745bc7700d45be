import { expect, test } from 'vitest'
import type { StoredConversation } from './driver.ts'
import {
  damagedRecord,
  decodeConversation,
  encodeMeta,
  fittingRows,
  listConversation,
  openerIn,
  rowBytes,
  searchedText,
} from './rows.ts'

const row = {
  ...{ id: 'c', kind: 'conversation', agent: 'a', status: 'idle', owner: 'ann', lastSeq: 3, idleSeq: 3 },
  ...{ settings: '{"a":1}', fsmState: null, title: '"Tea"', parent: '{"id":"p","at":1}' },
  ...{ createdAt: 1, updatedAt: 2, quarantinedAt: null, quarantineEpoch: null },
} as unknown as StoredConversation
const { quarantinedAt: _, quarantineEpoch: __, ...columns } = row
const { idleSeq: ___, ...plain } = columns as typeof columns & { idleSeq: number }
const record = { ...plain, settings: { a: 1 }, fsmState: null, title: 'Tea', parent: { id: 'p', at: 1 } }

test('a conversation comes back with its columns read, and without those of the engine', () => {
  expect(listConversation(row)).toStrictEqual(record)
  expect(decodeConversation(row)).toStrictEqual(record)
  expect(listConversation({ ...row, title: null, settings: 'null' })).toMatchObject({ title: null, settings: {} })
})

test('a conversation is quarantined since a time and in an epoch, or not at all', () => {
  expect(listConversation({ ...row, quarantinedAt: 5, quarantineEpoch: 6 } as never)).toStrictEqual({
    ...record,
    quarantine: { at: 5, epoch: 6 },
  })
  expect(listConversation({ ...row, quarantinedAt: 5 } as never)).toStrictEqual(record)
  expect(listConversation({ ...row, quarantineEpoch: 6 } as never)).toStrictEqual(record)
})

test('columns that cannot be read are named in their order, and what can be is known', () => {
  const broken = { ...row, settings: '{', fsmState: '[', title: '"', parent: 'x' } as never
  const readable = { ...record, settings: {}, fsmState: null, title: null, parent: null }
  const unreadable = ['settings', 'fsmState', 'title', 'parent']
  expect(listConversation(broken)).toStrictEqual({ ...readable, unreadable })
  let thrown: unknown
  try {
    decodeConversation(broken)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'conversation_unreadable' })
  expect(damagedRecord(thrown)).toStrictEqual(readable)
  for (const other of [new Error('x'), null, 'x', undefined]) expect(damagedRecord(other)).toBe(null)
})

test('meta is an object of at most 64 KiB as JSON, nothing, or what removes it', () => {
  const long = (length: number) => ({ a: 'x'.repeat(length - JSON.stringify({ a: '' }).length) })
  expect([encodeMeta(undefined), encodeMeta(null), encodeMeta({})]).toEqual([null, 'null', '{}'])
  expect(encodeMeta(long(65_536))).toHaveLength(65_536)
  expect(() => encodeMeta(long(65_537))).toThrow("'meta' has 65537 bytes as JSON; at most 65536 are stored")
  expect(() => encodeMeta([])).toThrow("'meta' must be an object or null, not a list")
  expect(() => encodeMeta(7)).toThrow("'meta' must be an object or null, not 7")
})

test('a text is looked for in ids as it is, and in titles as they are stored', () => {
  expect(searchedText('A "B" É')).toEqual({ inId: 'a "b" É', inTitle: 'a \\"b\\" É' })
})

test.each<[object, number[]]>([
  [{}, [3, 4, 5]],
  [{ limit: 2 }, [3, 4]],
  [{ limit: 1 }, [3]],
  [{ maxBytes: 7 }, [3, 4]],
  [{ maxBytes: 6 }, [3]],
  [{ maxBytes: 1 }, [3]],
  [{ maxBytes: 12 }, [3, 4, 5]],
  [{ limit: 1, maxBytes: 12 }, [3]],
])('of rows with 3, 4 and 5 bytes, %j leaves %j', (bounds, expected) => {
  expect(fittingRows([3, 4, 5], bounds, (bytes) => bytes)).toEqual(expected)
  expect(fittingRows([], bounds, () => 1)).toEqual([])
})

test('the bytes of a row are those of its texts', () => {
  expect(rowBytes.event({ content: 'éa' } as never)).toBe(3)
  const texts = { title: 'a', parent: 'bb', fsmState: null, settings: 'cccc' }
  expect(rowBytes.conversation(texts as never)).toBe(7)
  const call = { name: 'a', args: 'bb', prompt: 'cccc', notice: 'e'.repeat(16), meta: null, title: 'dddddddd' }
  expect(rowBytes.inboxCall(call as never)).toBe(31)
  const model = { status: 'a', model: 'bb', usage: 'cccc', evictions: 'd'.repeat(8), meta: 'e'.repeat(16) }
  expect(rowBytes.modelCall({ ...model, renderedContext: 'f'.repeat(32) } as never)).toBe(63)
})

test('the first message or the start of a session says who opened a log', () => {
  const said = (who: unknown) => ({ type: 'user_msg', content: { who } })
  const begun = { type: 'flow_started', content: { who: 'bob' } }
  const titled = { type: 'titled', content: { who: 'eve' } }
  expect(openerIn([titled, said('ann'), begun])).toBe('ann')
  expect(openerIn([begun, said('ann')])).toBe('bob')
  expect(openerIn([said(''), said('ann')])).toBe(null)
  expect(openerIn([titled])).toBe(null)
  expect(openerIn([{ type: 'user_msg', content: null }])).toBe(null)
})
