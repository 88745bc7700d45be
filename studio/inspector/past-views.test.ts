import { foldView, type LogEvent, type View } from 'perdure/client'
import { expect, test } from 'vitest'
import { EventLog } from './event-log.ts'
import { ended, madeLog, said, wrote } from './made-log.ts'
import { emptyView, PastViews } from './past-views.ts'

const turns = (count: number): LogEvent[] =>
  madeLog(
    ...Array.from({ length: count }, (_, turn) => [
      said(`t${turn}`, `question ${turn}`),
      wrote(`t${turn}`, `m${turn}`, `answer ${turn}`),
      ended(`t${turn}`),
    ]).flat(),
  )

function opened(events: readonly LogEvent[], checkpoint = (seq: number): View => whole(events, seq)) {
  const reads: string[] = []
  const log = new EventLog(async ({ after, limit }) => {
    reads.push(`events after ${after}`)
    return events.slice(after, after + limit)
  })
  log.grow(events.length)
  const views = new PastViews(log, async (seq) => {
    reads.push(`view at ${seq}`)
    return checkpoint(seq)
  })
  return { log, views, reads }
}

const whole = (events: readonly LogEvent[], seq: number): View => foldView(emptyView('c'), events.slice(0, seq))

test('the view of any moment is the fold of the events up to it', async () => {
  const events = turns(900)
  const { views } = opened(events)
  for (const seq of [1, 2, 999, 1_000, 1_001, 1_999, 2_500, 1_500, 3]) {
    const view = await views.at(seq)
    expect(view.messages).toEqual(whole(events, seq).messages)
    expect([view.seq, view.phase]).toEqual([seq, whole(events, seq).phase])
  }
})

test('a step reads only its own thousand events, and nothing that was read before', async () => {
  const { views, reads } = opened(turns(34_000), (seq) => ({
    ...emptyView('c'),
    seq,
    log: { ...emptyView('c').log, lastSeq: seq },
  }))
  await views.at(100_500)
  expect(reads).toEqual(['view at 100000', 'events after 100000'])
  for (let seq = 100_500; seq > 100_400; seq--) expect(views.peek(seq)?.seq).toBe(seq)
  expect(reads).toHaveLength(2)
  await views.at(99_999)
  expect(reads.slice(2)).toEqual(['view at 99000', 'events after 99000'])
})

test('panes that ask for the same moment at the same time share one request', async () => {
  const events = turns(400)
  const { views, reads } = opened(events)
  const [one, other] = await Promise.all([views.at(1_100), views.at(1_100), views.at(1_050)])
  expect(one.messages).toEqual(other.messages)
  expect(reads).toEqual(['view at 1000', 'events after 1000'])
})

test('a checkpoint that could not be read is asked for again', async () => {
  const events = turns(400)
  let isDown = true
  const { views } = opened(events, (seq) => {
    if (isDown) throw new Error('the server is away')
    return whole(events, seq)
  })
  await expect(views.at(1_100)).rejects.toThrow('away')
  isDown = false
  expect((await views.at(1_100)).seq).toBe(1_100)
})

test('a view ends before an event of a later version, and says so', async () => {
  const events = [
    ...turns(2),
    ...madeLog(said('t9', 'x'), ['hologram', {}]).map((event, index) => ({ ...event, seq: 7 + index })),
  ] as LogEvent[]
  const view = await opened(events).views.at(8)
  expect([view.seq, view.unknownEvent?.type]).toEqual([7, 'hologram'])
})

test('a log that grew is read on from where it ended', async () => {
  const events = turns(2)
  const { log, reads } = opened(events)
  await log.load(1, 6)
  events.push(...turns(1).map((event, index) => ({ ...event, seq: 7 + index })))
  expect(log.between(1, 7)).toBeUndefined()
  log.grow(9)
  await Promise.all([log.load(1, 9), log.load(5, 9)])
  expect(log.between(5, 9)?.map(({ seq }) => seq)).toEqual([5, 6, 7, 8, 9])
  expect(reads).toEqual(['events after 0', 'events after 6'])
})
