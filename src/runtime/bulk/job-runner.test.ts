import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConversationNotFoundError, InvalidArgumentError, StoreError } from '../../base/errors/store-errors.ts'
import { KeepAlive } from '../../engine/background-tasks.ts'
import type { ClaimedJob, JobProgress, Jobs, ScannedConversation } from '../../store/jobs.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { JobRunner } from './job-runner.ts'

// Work takes no time here, so the pace of a job is exactly what its clock is asked for.
beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(1_000))
afterEach(() => void vi.restoreAllMocks())

const job: ClaimedJob = {
  id: 'j',
  tenant: 'acme',
  action: 'unquarantine',
  who: 'ops',
  state: 'running',
  ...{
    createdAt: 50,
    finishedAt: null,
    done: 0,
    skipped: 0,
    failed: 0,
    cursor: null,
    report: null,
    token: 7,
    lapses: 0,
  },
  spec: { filter: {}, force: false, perSecond: 20 },
}

type Options = {
  readonly jobs?: readonly ClaimedJob[]
  readonly ids?: readonly string[]
  readonly settled?: (progress: JobProgress) => 'ok' | 'stopping' | 'lost'
  /** What releasing a conversation does. */
  readonly release?: (id: string) => unknown
}

/** A runner over a tenant whose conversations are all quarantined, except that those named `x...` do not match. */
function running({ jobs = [job], ids = [], settled = () => 'ok', release = () => true }: Options = {}) {
  const clock = fakeClock()
  const waiting = [...jobs]
  const told = { released: [] as string[], settled: [] as JobProgress[], warnings: [] as string[], scans: 0, claims: 0 }
  const store = {
    getConversation: async () => ({ quarantine: { at: 50, epoch: 1 } }),
    unquarantine: async (id: string) => {
      told.released.push(id)
      return release(id)
    },
  }
  const queue: Partial<Jobs> = {
    async claim(leaseMs) {
      expect(leaseMs).toBe(27_000)
      told.claims += 1
      return waiting.shift() ?? null
    },
    async settle(_id, token, progress) {
      expect(token).toBe(7)
      told.settled.push(progress)
      return settled(progress)
    },
    async scan({ after, limit }) {
      told.scans += 1
      const from = after ? ids.indexOf(after.id) + 1 : 0
      const rows = ids.slice(from, from + limit)
      return rows.map((id): ScannedConversation => ({ createdAt: 1, id, matches: !id.startsWith('x') }))
    },
  }
  const node = {
    ...{ clock, pollMs: 10, leaseMs: 9_000, keepAlive: new KeepAlive(), store: { forTenant: () => store } },
    redact: (text: string) => text.replaceAll('hunter2', '***'),
    warnOfStore: (message: string) => void told.warnings.push(message),
  }
  const runner = new JobRunner({ node } as unknown as RuntimeContext, queue as Jobs)
  return { runner, clock, waiting, told, pass: (ms: number) => clock.advance(ms) }
}

const idsOf = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `c${from + n}`)

test('a job is done in batches of eight, at its pace, and each is recorded with where it ends', async () => {
  const { runner, told, pass } = running({ ids: [...idsOf(8), 'x1', ...idsOf(4, 8)] })
  runner.look()
  await pass(399)
  expect(told.released).toEqual(idsOf(8))
  const leaseMs = 27_400
  expect(told.settled).toMatchObject([{ done: 8, skipped: 0, failed: 0, cursor: { id: 'c7' }, leaseMs }])
  await pass(1)
  expect(told.released).toEqual(idsOf(12))
  await pass(400)
  expect(told.settled.slice(1)).toMatchObject([
    { done: 12, cursor: { id: 'c11' }, leaseMs },
    { done: 12, cursor: { id: 'c11' }, leaseMs: null, end: 'done' },
  ])
  expect([told.scans, told.claims]).toEqual([1, 2])
})

test('where nothing of a page matches, the page is recorded and passed', async () => {
  const ids = [...Array.from({ length: 1_000 }, (_, n) => `x${n}`), 'c0']
  const { runner, told, pass } = running({ ids })
  runner.look()
  await pass(400)
  expect(told.settled).toMatchObject([
    { done: 0, cursor: { id: 'x999' }, leaseMs: 27_400 },
    { done: 1, cursor: { id: 'c0' } },
    { done: 1, leaseMs: null, end: 'done' },
  ])
})

test.each([
  [4, { done: 1, report: { problem: null }, end: 'done' }, ['c0']],
  [5, { done: 0, report: { problem: expect.stringContaining('5 processes in a row') }, end: 'stopped' }, []],
])('a job in which %d processes in a row died ends so: %j', async (lapses, end, released) => {
  const { runner, told, pass } = running({ jobs: [{ ...job, lapses }], ids: ['c0'] })
  runner.look()
  await pass(400)
  expect(told.settled.at(-1)).toMatchObject({ ...end, leaseMs: null })
  expect(told.released).toEqual(released)
})

test('a failure that may pass is tried three times, ever later, and another once; texts are redacted and cut', async () => {
  const failures: Record<string, () => Error> = {
    c0: () => new StoreError('away'),
    c1: () => new InvalidArgumentError('password', `is not hunter2 ${'x'.repeat(1_000)}`),
    c2: () => new ConversationNotFoundError('c2'),
  }
  const { runner, told, pass } = running({
    ids: idsOf(4),
    release: (id) => {
      const failure = failures[id]
      if (failure) throw failure()
      return true
    },
  })
  const triesOf = (id: string) => told.released.filter((one) => one === id).length
  runner.look()
  await pass(199)
  expect(triesOf('c0')).toBe(1)
  await pass(1)
  expect(triesOf('c0')).toBe(2)
  await pass(399)
  expect([triesOf('c0'), told.settled]).toEqual([2, []])
  await pass(1)
  expect([triesOf('c0'), triesOf('c1'), triesOf('c2')]).toEqual([3, 1, 1])
  expect(told.settled).toMatchObject([{ done: 1, skipped: 1, failed: 2, report: { skippedFor: { gone: 1 } } }])
  const { failures: listed } = told.settled[0]!.report as unknown as { failures: { id: string; error: string }[] }
  expect(listed.map(({ id }) => id)).toEqual(['c0', 'c1'])
  expect(listed[1]!.error).toContain('***')
  expect(listed[1]!.error).toHaveLength(500)
})

test('a failure that has passed at the last try is none', async () => {
  let left = 2
  const release = () => {
    if (left-- > 0) throw new StoreError('away')
    return true
  }
  const { runner, told, pass } = running({ ids: ['c0'], release })
  runner.look()
  await pass(1_000)
  expect(told.settled.at(-1)).toMatchObject({ done: 1, failed: 0 })
})

test('counts and reasons go on from what another process recorded, and the newest hundred failures are kept', async () => {
  const failures = Array.from({ length: 99 }, (_, n) => ({ id: `old${n}`, error: 'odd' }))
  const report = { skippedFor: { not_quarantined: 2 }, failures, problem: null }
  const before = { ...job, done: 5, skipped: 2, failed: 99, cursor: { createdAt: 1, id: 'c0' }, report }
  const { runner, told, pass } = running({
    jobs: [before],
    ids: idsOf(5),
    release: (id) => {
      if (id === 'c1' || id === 'c2') throw new Error(`odd ${id}`)
      return id !== 'c3'
    },
  })
  runner.look()
  await pass(400)
  const last = told.settled.at(-1)!
  expect(last).toMatchObject({ done: 6, skipped: 3, failed: 101, report: { skippedFor: { not_quarantined: 3 } } })
  const kept = (last.report as unknown as typeof report).failures
  expect([kept.length, kept[0]!.id, kept.at(-1)!.id]).toEqual([100, 'old1', 'c2'])
  expect(told.released).not.toContain('c0')
})

test('a job that another process has is left; one that a person stopped is ended after its batch', async () => {
  const lost = running({ ids: idsOf(20), settled: () => 'lost' })
  lost.runner.look()
  await lost.pass(5_000)
  expect([lost.told.settled.length, lost.told.released.length]).toEqual([1, 8])
  const stopped = running({ ids: idsOf(20), settled: () => 'stopping' })
  stopped.runner.look()
  await stopped.pass(5_000)
  expect(stopped.told.settled).toMatchObject([{ done: 8 }, { done: 8, leaseMs: null, end: 'stopped' }])
  const late = running({ jobs: [{ ...job, state: 'stopping' }], ids: idsOf(20), settled: () => 'stopping' })
  late.runner.look()
  await late.pass(5_000)
  expect([late.told.released, late.told.settled.at(-1)]).toMatchObject([[], { end: 'stopped' }])
})

test('closing gives the job back after the batch under way, without the pause after it, and nothing is begun any more', async () => {
  const { runner, told, pass, waiting } = running({ ids: idsOf(20) })
  runner.start()
  runner.look()
  await pass(0)
  await runner.close(1_000)
  expect(told.settled).toMatchObject([{ done: 8 }, { done: 8, leaseMs: null }])
  expect(told.settled.at(-1)!.end).toBeUndefined()
  waiting.push(job)
  runner.look()
  runner.start()
  await pass(10_000)
  expect([told.claims, told.released.length]).toEqual([1, 8])
})

test('jobs are looked for every twenty polls, not at the start, and at once when one is started here', async () => {
  const { runner, told, pass, waiting } = running({ jobs: [] })
  runner.start()
  await pass(199)
  expect(told.claims).toBe(0)
  await pass(1)
  expect(told.claims).toBe(1)
  await pass(200)
  expect(told.claims).toBe(2)
  waiting.push(job)
  runner.look()
  await pass(0)
  expect(told.settled).toMatchObject([{ end: 'done' }])
  await runner.close(0)
})

test('a job that is started while another is worked on is looked for after it', async () => {
  let asked = 0
  const gate = Promise.withResolvers<boolean>()
  const { runner, told, pass, waiting } = running({ ids: ['c0'], release: () => (++asked === 1 ? gate.promise : true) })
  runner.look()
  await pass(0)
  waiting.push({ ...job, id: 'k' })
  runner.look()
  await pass(0)
  expect(told.claims).toBe(1)
  gate.resolve(true)
  await pass(1_000)
  expect(told.settled.filter(({ end }) => end === 'done')).toHaveLength(2)
})

test('a store that fails interrupts a job, is told of, and does not keep other jobs from being looked for later', async () => {
  let failures = 1
  const settled = () => {
    if (failures-- > 0) throw new StoreError('away')
    return 'ok' as const
  }
  const { runner, told, pass, waiting } = running({ ids: ['c0'], settled })
  runner.look()
  await pass(1_000)
  expect(told.warnings).toEqual(['a bulk job was interrupted; it continues later'])
  waiting.push(job)
  runner.look()
  await pass(1_000)
  expect(told.settled.at(-1)).toMatchObject({ end: 'done' })
})
