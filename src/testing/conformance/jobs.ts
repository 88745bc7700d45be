import type { JobFilter, Jobs, NewJob } from '../../store/jobs.ts'
import type { Store } from '../../store/store.ts'
import { titled, turnEnded, userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const minute = 60_000
const day = 24 * 60 * minute
const nothing = { done: 0, skipped: 0, failed: 0, report: null, cursor: null }

const newJob = (id: string, more: Partial<NewJob> = {}): NewJob => ({
  id,
  tenant: 'default',
  action: 'cancel',
  who: 'ann',
  spec: { force: false },
  ...more,
})

/** For stores that keep bulk jobs; the others have no such obligation. */
export function jobs({ describe, test, testTwoStores, testReopening, expect, refused }: Suite): void {
  const withJobs =
    <B extends Bench>(body: (bench: B & { jobs: Jobs }) => Promise<void>) =>
    async (bench: B): Promise<void> => {
      const { jobs } = bench.store
      if (jobs) await body({ ...bench, jobs })
    }
  const testJobs = (name: string, body: (bench: Bench & { jobs: Jobs }) => Promise<void>): void =>
    test(name, withJobs(body))

  describe('bulk jobs', () => {
    testJobs('a job is written once, and keeps what it was started with', async ({ jobs }) => {
      const spec = { filter: { text: 'a\0b', '__proto__ ': 1 }, odd: '\ud83d\ude00' }
      const job = await jobs.start(newJob('one', { spec }), day)
      expect(job).toEqual({
        ...newJob('one', { spec }),
        state: 'running',
        createdAt: job.createdAt,
        finishedAt: null,
        ...nothing,
      })
      expect(await jobs.start(newJob('one', { action: 'retry' }), day)).toEqual(job)
      expect(await jobs.get('one')).toEqual(job)
      expect(await jobs.get('other')).toEqual(null)
    })

    testJobs('lists are newest first, by pages', async ({ jobs, pass }) => {
      for (const id of ['a', 'b', 'c']) {
        await jobs.start(newJob(id), day)
        await pass(2)
      }
      const ids = async (page: Parameters<Jobs['list']>[0]) => (await jobs.list(page)).map(({ id }) => id)
      expect(await ids({ limit: 2 })).toEqual(['c', 'b'])
      expect(await ids({ limit: 2, before: 'b' })).toEqual(['a'])
      expect(await ids({ before: 'missing' })).toEqual([])
    })

    testJobs('one process has a job, the oldest first, until it gives it back', async ({ jobs, pass }) => {
      await jobs.start(newJob('a'), day)
      await pass(2)
      await jobs.start(newJob('b'), day)
      const first = (await jobs.claim(minute))!
      const second = (await jobs.claim(minute))!
      expect([first.id, second.id]).toEqual(['a', 'b'])
      expect([first.lapses, second.lapses]).toEqual([0, 0])
      expect(await jobs.claim(minute)).toEqual(null)
      expect(await jobs.settle('a', first.token, { ...nothing, done: 3, leaseMs: null })).toBe('ok')
      const again = (await jobs.claim(minute))!
      expect([again.id, again.done, again.lapses]).toEqual(['a', 3, 0])
      expect(await jobs.settle('a', first.token, { ...nothing, leaseMs: minute })).toBe('lost')
      expect(await jobs.get('a')).toMatchObject({ done: 3 })
    })

    testJobs(
      'of a lease that lapsed the next claim is told, until progress is recorded',
      async ({ jobs, eventually }) => {
        await jobs.start(newJob('a'), day)
        const first = (await jobs.claim(1))!
        const taken = () => eventually('the lease has lapsed', () => jobs.claim(1))
        expect((await taken()).lapses).toBe(1)
        const third = await taken()
        expect(third.lapses).toBe(2)
        expect(await jobs.settle('a', first.token, { ...nothing, leaseMs: 1 })).toBe('lost')
        const cursor = { createdAt: 5, id: 'c5' }
        const report = { failures: ['why\0'] }
        expect(
          await jobs.settle('a', third.token, { done: 1, skipped: 2, failed: 3, report, cursor, leaseMs: 1 }),
        ).toBe('ok')
        const next = await taken()
        expect(next).toMatchObject({ lapses: 1, done: 1, skipped: 2, failed: 3, report, cursor })
      },
    )

    testJobs('a stop ends a job at once, or tells the process that has it', async ({ jobs }) => {
      await jobs.start(newJob('free'), day)
      expect(await jobs.stop('free')).toBe(true)
      expect(await jobs.get('free')).toMatchObject({ state: 'stopped' })
      expect(await jobs.stop('free')).toBe(false)
      expect(await jobs.stop('missing')).toBe(false)
      await jobs.start(newJob('held'), day)
      const { token } = (await jobs.claim(minute))!
      expect(await jobs.stop('held')).toBe(true)
      expect(await jobs.get('held')).toMatchObject({ state: 'stopping', finishedAt: null })
      expect(await jobs.settle('held', token, { ...nothing, done: 1, leaseMs: minute })).toBe('stopping')
      expect(await jobs.settle('held', token, { ...nothing, done: 1, leaseMs: null, end: 'stopped' })).toBe('ok')
      expect(await jobs.get('held')).toMatchObject({ state: 'stopped', done: 1 })
      expect(await jobs.claim(minute)).toEqual(null)
    })

    testJobs('a job that has ended is removed when another one starts, after its time', async ({ jobs, pass }) => {
      await jobs.start(newJob('open'), 0)
      await pass(2)
      await jobs.start(newJob('ended'), 0)
      await jobs.stop('ended')
      await pass(2)
      await jobs.start(newJob('next'), day)
      await pass(2)
      expect(await jobs.get('ended')).toMatchObject({ state: 'stopped' })
      const ids = async () => (await jobs.list()).map(({ id }) => id)
      await jobs.start(newJob('last'), 0)
      expect(await ids()).toEqual(['last', 'next', 'open'])
    })

    testJobs('a scan reads what was there at a time, the newest first, by pages', async ({ store, jobs, pass }) => {
      for (const id of ['a', 'b', 'c']) await store.appendEvent(id, userMsg())
      const { createdAt: at } = await jobs.start(newJob('job'), day)
      await pass(2)
      await store.appendEvent('later', userMsg())
      await store.forTenant('acme').appendEvent('theirs', userMsg())
      const scan = { tenant: 'default', filter: {}, limit: 2 }
      const first = await jobs.scan({ ...scan, at, after: null })
      const { createdAt, id } = first.at(-1)!
      const rest = await jobs.scan({ ...scan, at, after: { createdAt, id } })
      expect([...first, ...rest].map((row) => row.id).toSorted()).toEqual(['a', 'b', 'c'])
      expect([...first, ...rest].every((row) => row.matches)).toBe(true)
      const now = await jobs.scan({ ...scan, at: null, after: null, limit: 9 })
      expect(now.map((row) => row.id)[0]).toBe('later')
    })

    testJobs('a scan says what matches: each condition, and all of them together', async ({ store, jobs }) => {
      await store.commit('pending', {
        events: [userMsg()],
        conversation: { agent: 'till', status: 'suspended' },
      })
      await store.commit('idle', {
        events: [userMsg(), turnEnded(), titled('A Bill 100%')],
        conversation: { agent: 'desk' },
      })
      await store.putConversation('session', { kind: 'flow', agent: 'flow:book', status: 'sleeping' })
      await store.putConversation('child', { parent: { id: 'pending', callId: 'k1' } })
      const found = async (filter: JobFilter) => {
        const rows = await jobs.scan({ tenant: 'default', filter, at: null, after: null, limit: 100 })
        expect(rows.length).toBe(4)
        return rows.flatMap(({ id, matches }) => (matches ? [id] : [])).toSorted()
      }
      expect(await found({})).toEqual(['child', 'idle', 'pending', 'session'])
      expect(await found({ kind: 'flow' })).toEqual(['session'])
      expect(await found({ statuses: ['suspended', 'sleeping'] })).toEqual(['pending', 'session'])
      expect(await found({ statuses: [] })).toEqual([])
      expect(await found({ agent: 'till' })).toEqual(['pending'])
      expect(await found({ owner: 'ann' })).toEqual(['child', 'idle', 'pending'])
      expect(await found({ text: 'bILL 100%' })).toEqual(['idle'])
      expect(await found({ text: 'ESSIO' })).toEqual(['session'])
      expect(await found({ isRoot: true })).toEqual(['idle', 'pending', 'session'])
      expect(await found({ isQuarantined: true })).toEqual([])
      expect(await found({ unchangedSince: 0 })).toEqual([])
      expect(await found({ unchangedSince: Number.MAX_SAFE_INTEGER })).toEqual(['child', 'idle', 'pending', 'session'])
      expect(await found({ agent: 'till', statuses: ['idle'] })).toEqual([])
    })

    testJobs('a tenant that is deleted takes its jobs along', async ({ store, jobs }) => {
      await jobs.start(newJob('theirs', { tenant: 'acme' }), day)
      await jobs.start(newJob('ours'), day)
      await store.deleteTenant('acme')
      expect((await jobs.list()).map(({ id }) => id)).toEqual(['ours'])
    })

    testTwoStores(
      'of two processes that claim at once, one has the job',
      withJobs<Bench & { other: Store }>(async ({ jobs, other }) => {
        await jobs.start(newJob('a'), day)
        const claimed = await Promise.all([jobs, other.jobs!, jobs, other.jobs!].map((one) => one.claim(minute)))
        expect(claimed.filter((job) => job !== null).length).toBe(1)
      }),
    )

    testReopening(
      'jobs outlive the store',
      withJobs<Bench & { reopen(): Promise<Store> }>(async ({ jobs, reopen }) => {
        const job = await jobs.start(newJob('a'), day)
        expect(await (await reopen()).jobs!.get('a')).toEqual(job)
      }),
    )

    testJobs('what makes no sense is refused', async ({ jobs }) => {
      await refused('invalid_id', () => jobs.start(newJob(''), day))
      await refused('invalid_argument', () => jobs.start({ ...newJob('a'), action: 'explode' as never }, day))
      await refused('invalid_argument', () => jobs.start(newJob('a', { spec: 'x'.repeat(70_000) }), day))
      await refused('invalid_argument', () => jobs.claim(0))
    })
  })
}
