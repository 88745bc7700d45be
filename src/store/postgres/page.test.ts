import { expect, test } from 'vitest'
import type { PageBounds } from '../store.ts'
import { Page } from './columns.ts'

const shape = { columns: 'id, body', order: 't.at DESC', returnedOrder: 'at DESC', bytes: ['body', 'title'] }
const flat = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim()

function built(bounds: PageBounds, values: unknown[] = ['tenant']) {
  const page = new Page(bounds, values)
  return { sql: flat(page.within('SELECT * FROM t', shape)), values: page.values, name: page.named('rows') }
}

test('a page without bounds is the statement in its order', () => {
  expect(built({})).toEqual({ sql: 'SELECT * FROM t ORDER BY t.at DESC', values: ['tenant'], name: 'rows' })
})

test('a limit takes the next place among the values, and leaves those that were given as they are', () => {
  const given = ['tenant', 'id']
  expect(built({ limit: 5 }, given)).toEqual({
    ...{ sql: 'SELECT * FROM t ORDER BY t.at DESC LIMIT $3', values: ['tenant', 'id', 5], name: 'rows_limited' },
  })
  expect(given).toHaveLength(2)
})

test('a bound in bytes counts the named columns, nothing where they are null, and keeps the first row', () => {
  const { sql, values, name } = built({ limit: 5, maxBytes: 900 })
  expect(sql).toContain('sum(coalesce(octet_length(body), 0) + coalesce(octet_length(title), 0)) OVER rows AS total')
  expect(sql).toContain('FROM (SELECT * FROM t ORDER BY t.at DESC LIMIT $2) AS found')
  expect(sql.endsWith('WHERE place = 1 OR total <= $3 ORDER BY at DESC')).toBe(true)
  expect(sql.startsWith('SELECT id, body FROM')).toBe(true)
  expect([values, name]).toEqual([['tenant', 5, 900], 'rows_limited_bounded'])
  expect(built({ maxBytes: 900 })).toMatchObject({ values: ['tenant', 900], name: 'rows_bounded' })
})

test('what is returned has the order of the statement, unless it has other names', () => {
  const page = new Page({ maxBytes: 9 }, [])
  const { returnedOrder: _, ...plain } = shape
  expect(flat(page.within('SELECT * FROM t', plain))).toContain('WINDOW rows AS (ORDER BY t.at DESC ROWS')
})
