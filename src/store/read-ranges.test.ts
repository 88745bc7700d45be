import { describe, expect, test } from 'vitest'
import {
  readBounds,
  readFilter,
  readKnownLeases,
  readModelCallRange,
  readPage,
  readRange,
  readSlice,
  readWatchedLogs,
} from './checks.ts'
import { readDueWork } from './read-limits.ts'

const bounds = { limit: 1, maxBytes: 1 }
const lease = { tenant: 't', id: 'c', epoch: 0, seq: 0 }
const log = { tenant: 't', id: 'c', seq: 0, at: null, status: null }
const query = { agents: ['a'], limit: 1 }

type Read = (given: never) => unknown

/** What may be given, whole; then for each member what it must not be. */
const cases: [name: string, read: Read, good: object, bad: Record<string, readonly unknown[]>][] = [
  [
    'a range of events',
    readRange,
    { after: 0, before: 0, keep: 'oldest', ...bounds },
    { after: [-1, '1'], before: [-1, 0.5], keep: ['middle'], limit: [0], maxBytes: [0] },
  ],
  ['bounds', readBounds, bounds, { limit: [0, '1'], maxBytes: [0, '1'] }],
  ['a page', readPage, { before: 'x', ...bounds }, { before: ['', 7], limit: [0], maxBytes: [0] }],
  [
    'a filter',
    readFilter,
    { status: 'ended', agent: 'a', forkOf: 'f', before: 'b', ...bounds },
    { status: ['gone'], agent: [''], forkOf: [''], before: [''], limit: [0], maxBytes: [0] },
  ],
  [
    'a range of model calls',
    readModelCallRange,
    { turnRef: 't', from: 'f', skip: 0, contexts: false, ...bounds },
    { turnRef: [''], from: [''], skip: [-1], contexts: [0, 'no'], limit: [0], maxBytes: [0] },
  ],
]

describe.each(cases)('%s', (_, read, good, bad) => {
  test('is read as it is given, and everything in it may be missing', () => {
    expect(read(good as never)).toEqual(good)
    expect(read({} as never)).toEqual({})
    expect(read(undefined as never)).toEqual({})
  })

  test('is refused with the name of what is wrong in it', () => {
    for (const [name, values] of Object.entries(bad))
      for (const value of values) expect(() => read({ ...good, [name]: value } as never)).toThrow(name)
  })
})

test('each status can be filtered by, and each end of a range be kept', () => {
  for (const status of ['active', 'suspended', 'idle', 'ended'] as const)
    expect([readFilter({ status }), readWatchedLogs([{ ...log, status }])]).toEqual([{ status }, [{ ...log, status }]])
  for (const keep of ['newest', 'oldest'] as const) expect(readRange({ keep })).toEqual({ keep })
})

test('a slice has a place and at least one byte', () => {
  expect(readSlice({ from: 0, length: 1, more: 1 } as never)).toEqual({ from: 0, length: 1 })
  for (const slice of [{ from: -1, length: 1 }, { length: 1 }]) expect(() => readSlice(slice as never)).toThrow('from')
  for (const slice of [{ from: 0, length: 0 }, { from: 0 }]) expect(() => readSlice(slice as never)).toThrow('length')
})

test('a query for work has its agents and a limit; the rest may be missing, and stays so', () => {
  expect(readDueWork({ ...query, more: 1 } as never)).toEqual(query)
  const whole = { ...query, suspects: 0, leaseMs: 1 }
  expect(readDueWork(whole)).toEqual(whole)
  for (const [name, value] of [
    ['limit', 0],
    ['limit', undefined],
    ['suspects', -1],
    ['leaseMs', 0],
    ['agents', 'a'],
    ['agent', undefined],
  ] as const) {
    const given = name === 'agent' ? { ...query, agents: ['a', ''] } : { ...query, [name]: value }
    expect(() => readDueWork(given as never)).toThrow(name)
  }
})

test('leases that are known have all their members, and no more are read', () => {
  expect(readKnownLeases([{ ...lease, more: 1 } as never, { ...lease, epoch: 3, seq: 9 }])).toEqual([
    lease,
    { ...lease, epoch: 3, seq: 9 },
  ])
  for (const [told, wrong] of [
    ['tenant', { tenant: '' }],
    ['conversation id', { id: '' }],
    ['epoch', { epoch: -1 }],
    ['seq', { seq: -1 }],
  ] as const)
    expect(() => readKnownLeases([lease, { ...lease, ...wrong }])).toThrow(told)
  expect(() => readKnownLeases({} as never)).toThrow('known')
})

test('logs that are watched have all their members, of which time and status may be unknown', () => {
  const whole = { ...log, seq: 9, at: 0, status: 'idle' as const }
  expect(readWatchedLogs([{ ...log, more: 1 } as never, whole])).toEqual([log, whole])
  for (const [told, wrong] of [
    ['tenant', { tenant: '' }],
    ['conversation id', { id: '' }],
    ['seq', { seq: -1 }],
    ['at', { at: -1 }],
    ['status', { status: 'gone' as never }],
  ] as const)
    expect(() => readWatchedLogs([log, { ...log, ...wrong }])).toThrow(told)
})
