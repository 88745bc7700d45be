import { expect, test } from 'vitest'
import type { PageBounds } from '../../store/store.ts'
import { Cursors, judgedPage, placeOf } from './judged-page.ts'

const cursors = new Cursors(Buffer.alloc(32, 7))
const use = 'conversations of ann'
const name = (n: number) => `c${n}`

type Asked = PageBounds & { readonly before?: string }

/** A list of so many items, of which those are allowed that the test says. `most`: of one read. */
function listOf(count: number, allows: (n: number) => boolean, most = Number.POSITIVE_INFINITY) {
  const asked: Asked[] = []
  const judged: number[] = []
  const ids = Array.from({ length: count }, (_, n) => ({ id: name(n) }))
  const read = async (bounds: Asked) => {
    asked.push(bounds)
    const from = bounds.before === undefined ? 0 : ids.findIndex(({ id }) => id === bounds.before) + 1
    return ids.slice(from, from + Math.min(bounds.limit!, most))
  }
  const allowed = async ({ id }: { id: string }) => {
    const n = Number(id.slice(1))
    judged.push(n)
    return allows(n)
  }
  const page = async (bounds: Asked & { limit: number }) => {
    const found = await judgedPage({ read, allows: allowed, cursors, use }, bounds)
    const place = found.before === null ? null : cursors.open(found.before!, use)
    return { ids: found.map(({ id }) => id), place, before: found.before }
  }
  return { page, asked, judged }
}

test('a page has what is allowed, and its cursor stands for the last item that was looked at', async () => {
  const { page, asked } = listOf(10, (n) => n % 2 === 0)
  expect(await page({ limit: 3 })).toMatchObject({ ids: ['c0', 'c2', 'c4'], place: 'c4' })
  expect(asked).toEqual([{ limit: 3 }, { limit: 3, before: 'c2' }])
  const { before } = await page({ limit: 3 })
  expect(await page({ limit: 3, before: before! })).toMatchObject({ ids: ['c6', 'c8'], place: null })
})

test('the last page has no cursor, also where it is just full', async () => {
  expect(await listOf(2, () => true).page({ limit: 3 })).toEqual({ ids: ['c0', 'c1'], place: null, before: null })
  expect(await listOf(0, () => true).page({ limit: 3 })).toEqual({ ids: [], place: null, before: null })
  expect(await listOf(4, (n) => n !== 0).page({ limit: 3 })).toMatchObject({ ids: ['c1', 'c2', 'c3'], place: null })
  expect(await listOf(5, (n) => n !== 0).page({ limit: 3 })).toMatchObject({ ids: ['c1', 'c2', 'c3'], place: 'c3' })
})

test('a page looks at no more than ten items for each that it may have', async () => {
  const { page, judged } = listOf(100, () => false)
  expect(await page({ limit: 3 })).toMatchObject({ ids: [], place: 'c29' })
  expect(judged).toEqual(Array.from({ length: 30 }, (_, n) => n))
})

test('items are judged sixteen at once, and none after the page is full', async () => {
  const { page, judged } = listOf(100, () => true)
  expect(await page({ limit: 40 })).toMatchObject({ place: 'c39' })
  expect(judged).toHaveLength(40)
  const some = listOf(100, (n) => n < 17)
  await some.page({ limit: 17 })
  expect(some.judged).toHaveLength(17)
})

test('where reads are bounded in bytes, a page has what one of them has, and a short one is not the last', async () => {
  const { page, asked } = listOf(5, (n) => n > 1, 2)
  expect(await page({ limit: 4, maxBytes: 9 })).toMatchObject({ ids: ['c2', 'c3'], place: 'c3' })
  expect(asked).toEqual([
    { limit: 4, maxBytes: 9 },
    { limit: 4, maxBytes: 9, before: 'c1' },
  ])
  const none = listOf(3, () => false, 2)
  expect(await none.page({ limit: 4, maxBytes: 9 })).toMatchObject({ ids: [], place: null })
})

test('a page is a plain list to what copies it', async () => {
  const found = await judgedPage(
    { read: async () => [{ id: 'a' }], allows: async () => true, cursors, use },
    { limit: 1 },
  )
  expect(Object.keys(found)).toEqual(['0'])
  expect(found.before).toEqual(expect.any(String))
})

test.each([
  ['conversation_not_found', true],
  ['call_not_found', true],
  ['store_unavailable', false],
])('a place that is gone is told of without its name: %s', async (code, isGone) => {
  const failure = Object.assign(new Error(`'c7' is not there`), { code })
  const parts = { read: () => Promise.reject(failure), allows: async () => true, cursors, use }
  await expect(judgedPage(parts, { limit: 1 })).rejects.toBe(failure)
  const asked = judgedPage(parts, { limit: 1, before: cursors.seal('c7', use) })
  if (isGone) await expect(asked).rejects.toThrow("'before' stands for a place that is gone")
  else await expect(asked).rejects.toBe(failure)
})

test('a cursor tells nothing of its place, not even its length, and is good for one use', () => {
  const [short, long] = [cursors.seal('a', use), cursors.seal('x'.repeat(255), use)]
  expect(short).toHaveLength(long.length)
  expect(cursors.seal('a', use)).not.toBe(short)
  expect([cursors.open(short, use), cursors.open(long, use)]).toEqual(['a', 'x'.repeat(255)])
  for (const bad of [
    () => cursors.open(short, 'another use'),
    () => new Cursors(Buffer.alloc(32, 8)).open(short, use),
    () => cursors.open('c1', use),
    () => cursors.open('', use),
  ])
    expect(bad).toThrow("'before' is not a cursor of this list")
})

test('a call stands in a list by its id, and everything else by its own', () => {
  expect([placeOf({ id: 'c' }), placeOf({ callId: 'k' })]).toEqual(['c', 'k'])
})
