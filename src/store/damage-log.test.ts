import { expect, test } from 'vitest'
import { type Logger, silentLogger } from '../base/logger.ts'
import { DamageLog } from './create-store.ts'
import type { StoredConversation } from './driver.ts'
import { decodeConversation, listConversation } from './rows.ts'

test('each damaged conversation is logged once, until a thousand others were', () => {
  const lines: unknown[] = []
  const logger: Logger = { ...silentLogger, error: (message, details) => lines.push([message, details]) }
  const damage = new DamageLog(logger)
  damage.tell('acme', 'a', ['title'])
  damage.tell('acme', 'a', ['title'])
  damage.tell('other', 'a', ['title'])
  expect(lines).toEqual([
    ['the row of a conversation is damaged; run perdure doctor', { tenant: 'acme', id: 'a', columns: ['title'] }],
    ['the row of a conversation is damaged; run perdure doctor', { tenant: 'other', id: 'a', columns: ['title'] }],
  ])
  for (let n = 0; n < 998; n++) damage.tell('acme', String(n), ['title'])
  damage.tell('acme', 'a', ['title'])
  expect(lines).toHaveLength(1_000)
  damage.tell('acme', 'one more', ['title'])
  damage.tell('acme', 'a', ['title'])
  expect(lines).toHaveLength(1_002)
})

const row = {
  ...{ id: 'a', kind: 'conversation', agent: 'x', status: 'idle', lastSeq: 3 },
  ...{ settings: '{"a":1}', fsmState: null, title: '"A"', parent: '{"id":"b","at":1}' },
} as unknown as StoredConversation

test('a row is read column by column, and an absent column is empty', () => {
  expect(decodeConversation(row)).toMatchObject({
    settings: { a: 1 },
    fsmState: null,
    title: 'A',
    parent: { id: 'b', at: 1 },
    lastSeq: 3,
  })
  const bare = { ...row, settings: null, title: null, parent: null } as unknown as StoredConversation
  expect(decodeConversation(bare)).toMatchObject({ settings: {}, title: null, parent: null })
  expect('unreadable' in decodeConversation(row)).toBe(false)
})

test('a damaged column is named: lists show it as empty, a single read throws', () => {
  const damaged = { ...row, title: '"A', settings: '{' } as unknown as StoredConversation
  expect(listConversation(damaged)).toMatchObject({
    settings: {},
    title: null,
    parent: { id: 'b' },
    unreadable: ['settings', 'title'],
  })
  expect(() => decodeConversation(damaged)).toThrow(expect.objectContaining({ code: 'conversation_unreadable' }))
})
