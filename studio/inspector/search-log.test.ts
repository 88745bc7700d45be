import { expect, test } from 'vitest'
import { madeLog, resolved, said, wrote } from './made-log.ts'
import { isEmptyQuery, matches, parseQuery } from './search-log.ts'

const log = madeLog(
  said('t1', 'Where is my Lamp?', 'ann'),
  wrote('t1', 'm1', 'It is "on its way"\nto you.'),
  resolved('c1', 'eve'),
  resolved('c2', 'ann', 'denied'),
  ['hologram', { deep: { er: [{ name: 'refund' }] } }],
)
const found = (text: string) => log.filter((event) => matches(event, parseQuery(text))).map(({ seq }) => seq)

test.each([
  ['type:resolution', [3, 4]],
  ['type:resolution who:eve', [3]],
  ['who:ann', [1, 4]],
  ['lamp', [1]],
  ['LAMP where', [1]],
  ['lamp eve', []],
  ['"on its way"', [2]],
  ['text:"my lamp"', [1]],
  ['name:refund', [5]],
  ['seq:2-3', [2, 3]],
  ['seq:4-', [4, 5]],
  ['seq:x', []],
  ['type:hologram', [5]],
  ['type:', [1, 2, 3, 4, 5]],
  ['', [1, 2, 3, 4, 5]],
])('%s finds %j', (text, seqs) => expect(found(text)).toEqual(seqs))

test('a query of blanks is empty', () => expect(isEmptyQuery(parseQuery('  '))).toBe(true))

test('a hostile query costs no more than its first 1,000 characters', () => {
  expect(parseQuery('a:"'.repeat(1_000_000)).fields.length).toBeLessThan(1_000)
})
