import { expect, test } from 'vitest'
import { ended, replied, said } from '../../../test/log/story.ts'
import { weightOf } from '../../log/abridge.ts'
import type { NewEvent } from '../../log/events.ts'
import { userMsg } from '../../log/validate-event.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { history } from './history.ts'
import { readHistory } from './read-history.ts'

const long = 'x'.repeat(2_000)
const whole = 1024 * 1024

/** Three events for each turn: what was said, what was answered, and its end. */
const turn = (n: number): NewEvent[] => [
  said(`t${n}`),
  replied(`t${n}`, `m${n}`, 3 * n - 2, { parts: [{ type: 'text', text: long }] }),
  ended(`t${n}`),
]

async function logOf(...events: NewEvent[]) {
  const store = memoryStore().forTenant('default')
  await store.commit('c', { events, conversation: { agent: 'a' } })
  const read = async (limit: number, before?: number, maxBytes = whole) => {
    const page = await readHistory(store, 'c', { limit, maxBytes, before } as never)
    const seqs = page.events.map(({ seq }) => seq)
    return { first: seqs[0], last: seqs.at(-1), ...page }
  }
  return { store, read }
}

test('a page has the last turns, and knows the turn before them', async () => {
  const { read } = await logOf(...[1, 2, 3, 4].flatMap(turn))
  expect(await read(2)).toMatchObject({ turnIds: ['t3', 't4'], previous: 't2', before: 7, last: 12 })
  expect(await read(1)).toMatchObject({ turnIds: ['t4'], previous: 't3', before: 10 })
})

test('a page that reaches the beginning has nothing before it', async () => {
  const { read } = await logOf(...[1, 2].flatMap(turn))
  for (const limit of [2, 3]) {
    expect(await read(limit)).toMatchObject({ turnIds: ['t1', 't2'], previous: null, before: null, first: 1, last: 6 })
  }
})

test('the page before another one ends where that one begins', async () => {
  const { read } = await logOf(...[1, 2, 3, 4].flatMap(turn))
  expect(await read(2, 7)).toMatchObject({ turnIds: ['t1', 't2'], previous: null, before: null, first: 1, last: 6 })
  expect(await read(1, 7)).toMatchObject({ turnIds: ['t2'], previous: 't1', before: 4 })
  expect(await read(2, 1)).toMatchObject({ events: [], turnIds: [], before: null })
})

test('a turn that was queued ends after later ones have begun, and its end belongs to its page', async () => {
  const { read } = await logOf(
    said('t1'),
    said('t2'),
    replied('t1', 'm1', 1),
    ended('t1'),
    ...[replied('t2', 'm2', 4)],
    ended('t2'),
  )
  const { events } = await read(1, 2)
  expect(events.map(({ seq }) => seq)).toEqual([1, 3, 4])
})

test('a page of few bytes has at least one turn, and says where the rest begins', async () => {
  const { read } = await logOf(...[1, 2, 3].flatMap(turn))
  expect(await read(3, undefined, 4_500)).toMatchObject({ turnIds: ['t3'], previous: null, before: 7, first: 7 })
  // Within a turn, where not even one fits.
  expect(await read(3, undefined, 100)).toMatchObject({ turnIds: ['t3'], before: 8, first: 8, last: 9 })
})

test('what is larger than a page is shown from its beginning, to the byte', async () => {
  const question: NewEvent = userMsg({
    turnId: 't1',
    message: { parts: [{ type: 'text', text: long }] },
    options: {},
    who: 'ann',
  })
  const { store } = await logOf(question)
  const size = weightOf(question.content)
  const shown = async (maxBytes: number) => (await history(store, 'c', { maxBytes })).messages
  expect(await shown(size)).toMatchObject([{ seq: 1, parts: [{ text: long }] }])
  expect((await shown(size))[0]).not.toHaveProperty('leftOut')
  expect(await shown(size - 1)).toMatchObject([{ seq: 1, leftOut: expect.any(Number) }])
})

test('what stands for the beginning of a turn takes its place on the page, to the byte', async () => {
  const answer = replied('t1', 'm1', 1, { parts: [{ type: 'text', text: long }] })
  const { store } = await logOf(said('t1'), answer)
  const beginning = weightOf({ turnId: 't1', message: { parts: [] }, options: {}, who: '' })
  const size = weightOf(answer.content) + beginning
  const shown = async (maxBytes: number) => (await history(store, 'c', { maxBytes })).messages
  expect(await shown(size)).toMatchObject([{ seq: 2, parts: [{ text: long }] }])
  expect(await shown(size - 1)).toMatchObject([{ seq: 2, leftOut: expect.any(Number) }])
})

test('of a long turn no more is read than fits', async () => {
  const answers = Array.from({ length: 200 }, (_, n) => replied('t1', `m${n}`, 1))
  const { store } = await logOf(said('t1'), ...answers)
  let reads = 0
  const pageEvents: typeof store.pageEvents = (id, range) => {
    reads += 1
    return store.pageEvents(id, range)
  }
  const page = await readHistory({ ...store, pageEvents }, 'c', { limit: 1, maxBytes: 1_000 })
  expect(page).toMatchObject({ turnIds: ['t1'], before: page.events[0]!.seq })
  expect(reads).toBe(1)
})

test('a page is read from the end of the log, and no farther than it goes', async () => {
  const { store } = await logOf(...Array.from({ length: 400 }, (_, n) => turn(n + 1)).flat())
  const reads: (number | undefined)[] = []
  const pageEvents: typeof store.pageEvents = (id, range) => {
    reads.push(range?.before)
    return store.pageEvents(id, range)
  }
  const counted = { ...store, pageEvents }
  expect(await readHistory(counted, 'c', { limit: 1, maxBytes: whole })).toMatchObject({ turnIds: ['t400'] })
  expect(reads).toEqual([undefined])
  reads.length = 0
  // Many turns, few bytes.
  expect(await readHistory(counted, 'c', { limit: 10, maxBytes: 4_500 })).toMatchObject({ turnIds: ['t400'] })
  expect(reads).toEqual([undefined])
})

test('of a log that is not there the page is empty', async () => {
  const { store } = await logOf(said('t1'))
  expect(await readHistory(store, 'other', { limit: 3, maxBytes: whole } as never)).toMatchObject({
    ...{ events: [], turnIds: [], previous: null, before: null, unknownEvent: null },
  })
})
