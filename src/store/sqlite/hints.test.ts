import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import type { WakeHint } from '../store.ts'
import type { Connection } from './connection.ts'
import { busyError } from './failure.ts'
import { watchOthers } from './hints.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A file that other connections write to; each of their commits changes its version. */
function watching() {
  const file = { version: 1, eventId: 7, grown: [] as WakeHint[], error: null as unknown, asked: [] as unknown[] }
  const newConnection = () => ({
    get: (sql: string) => (sql.startsWith('PRAGMA') ? { data_version: file.version } : { id: file.eventId }),
    all: (_sql: string, after: number) => {
      file.asked.push(after)
      return file.grown
    },
    snapshot: (work: () => unknown) => work(),
  })
  let database = newConnection()
  const connection = {
    open: () => {
      if (file.error) throw file.error
      return database
    },
    failed: (error: unknown) => error,
  } as unknown as Connection
  const hints: WakeHint[] = []
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const stop = watchOthers(connection, logger, (hint) => void hints.push(hint))
  const reopen = () => {
    database = newConnection()
  }
  return { file, hints, warnings, stop, reopen, poll: () => vi.advanceTimersByTime(20) }
}

const grown: WakeHint = { tenant: 't', id: 'c', seq: 3 }

test('events of other connections are hinted within twenty milliseconds, from the newest known event on', () => {
  const { file, hints, stop, poll } = watching()
  Object.assign(file, { version: 2, eventId: 9, grown: [grown] })
  vi.advanceTimersByTime(19)
  expect(hints).toEqual([])
  vi.advanceTimersByTime(1)
  expect([hints, file.asked]).toEqual([[grown], [7]])
  poll()
  expect(hints).toHaveLength(1)
  stop()
  Object.assign(file, { version: 3, eventId: 10 })
  poll()
  expect(hints).toHaveLength(1)
})

test('events from before, from this connection, and commits without events give no hint', () => {
  const { file, hints, poll, stop } = watching()
  file.grown = [grown]
  file.eventId = 8
  poll()
  file.version = 2
  poll()
  expect([hints, file.asked]).toEqual([[], []])
  stop()
})

test('events appended while the file was reopened are hinted', () => {
  const { file, hints, poll, stop, reopen } = watching()
  reopen()
  Object.assign(file, { eventId: 9, grown: [grown] })
  poll()
  expect(hints).toEqual([grown])
  stop()
})

test('a busy file is polled again; one that fails is logged once, until it works again', () => {
  const { file, hints, warnings, poll, stop } = watching()
  file.error = busyError()
  poll()
  expect(warnings).toEqual([])
  file.error = new Error('gone')
  poll()
  poll()
  expect(warnings).toEqual(['watching the store for changes by other processes failed; trying again'])
  Object.assign(file, { error: null, version: 2, eventId: 9, grown: [grown] })
  poll()
  expect(hints).toEqual([grown])
  file.error = new Error('gone')
  poll()
  expect(warnings).toHaveLength(2)
  stop()
})
