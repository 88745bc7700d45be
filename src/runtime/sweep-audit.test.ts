import { expect, test } from 'vitest'
import { type Logger, silentLogger } from '../base/logger.ts'
import type { Store } from '../store/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { sweepAudit } from './readiness.ts'

const hourMs = 3_600_000

/** A store with so many conversations in each tenant; what is swept is told. */
function swept(count: number, ttlMs = 1_000) {
  const done: string[] = []
  const lines: string[] = []
  let isDown = false
  let held: PromiseWithResolvers<void> | null = null
  const store = {
    forTenant: (tenant: string) => ({
      listConversations: async ({ limit, before }: { limit: number; before?: string }) => {
        if (isDown) throw new Error('down')
        const from = before === undefined ? 0 : Number(before) + 1
        return Array.from({ length: Math.min(limit, count - from) }, (_, index) => ({ id: String(from + index) }))
      },
      gcModelCalls: async (id: string, ttl: number) => {
        done.push(`${tenant}/${id} ${ttl}`)
        await held?.promise
      },
    }),
  } as unknown as Store
  const clock = fakeClock()
  const logger: Logger = { ...silentLogger, warn: (message) => lines.push(message) }
  const stop = sweepAudit({ store, clock, logger, ttlMs, tenants: new Set(['acme', 'other']) })
  const hold = () => void (held = Promise.withResolvers<void>())
  const release = () => held?.resolve()
  return { clock, done, lines, stop, hold, release, down: (value: boolean) => (isDown = value) }
}

test('every conversation of every tenant is swept, page by page, once in the time that rows may be old', async () => {
  const { clock, done } = swept(201)
  await clock.advance(999)
  expect(done).toEqual([])
  await clock.advance(1)
  expect(done).toHaveLength(402)
  expect(new Set(done).size).toBe(402)
  expect([done[0], done[200], done[201], done.at(-1)]).toEqual([
    'acme/0 1000',
    'acme/200 1000',
    'other/0 1000',
    'other/200 1000',
  ])
  await clock.advance(1_000)
  expect(done).toHaveLength(804)
})

test('a page that is just full is followed by an empty one, and that is the end', async () => {
  const { clock, done } = swept(100)
  await clock.advance(1_000)
  expect(done).toHaveLength(200)
})

test('at least once an hour, however long rows may stay', async () => {
  const { clock, done } = swept(1, 24 * hourMs)
  await clock.advance(hourMs)
  expect(done).toEqual([`acme/0 ${24 * hourMs}`, `other/0 ${24 * hourMs}`])
})

test('what fails is told of and tried again at the next sweep', async () => {
  const { clock, done, lines, down } = swept(1)
  down(true)
  await clock.advance(1_000)
  expect([done.length, lines]).toEqual([0, ['old audit rows could not be removed; trying again later']])
  down(false)
  await clock.advance(1_000)
  expect(done).toHaveLength(2)
})

test('once stopped, nothing is swept any more', async () => {
  const { clock, done, stop } = swept(1)
  stop()
  await clock.advance(10_000)
  expect(done).toEqual([])
})

test('a sweep that is stopped in the middle goes no further, and none follows', async () => {
  const { clock, done, stop, hold, release } = swept(3)
  hold()
  await clock.advance(1_000)
  stop()
  release()
  await clock.advance(10_000)
  expect(done).toEqual(['acme/0 1000'])
})
