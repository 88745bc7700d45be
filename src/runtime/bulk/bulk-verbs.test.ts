import { expect, test } from 'vitest'
import type { JobScan, NewJob, StoredJob } from '../../store/jobs.ts'
import type { Store } from '../../store/store.ts'
import type { BulkStart } from './bulk-request.ts'
import { bulkVerbs } from './bulk-verbs.ts'

/** A tenant with this many conversations, of which every tenth matches. */
function withConversations(count: number) {
  const scans: JobScan[] = []
  const started: { readonly job: NewJob; readonly keepMs: number }[] = []
  const jobs = {
    async scan(scan: JobScan) {
      const from = scans.length * scan.limit
      scans.push(scan)
      return Array.from({ length: Math.min(scan.limit, Math.max(0, count - from)) }, (_, n) => {
        return { createdAt: count - from - n, id: `c${from + n}`, matches: (from + n) % 10 === 0 }
      })
    },
    async start(job: NewJob, keepMs: number): Promise<Partial<StoredJob>> {
      started.push({ job, keepMs })
      return { ...job, state: 'running', report: null }
    },
  }
  return { bulk: bulkVerbs({ jobs } as unknown as Pick<Store, 'jobs'>), scans, started }
}

test('a count reads page after page, each below the last conversation of the one before', async () => {
  const { bulk, scans } = withConversations(2_500)
  expect(await bulk.count({ action: 'cancel' })).toEqual({ matches: 250, isPartial: false })
  expect(scans.map(({ after }) => after)).toEqual([
    null,
    { createdAt: 1_501, id: 'c999' },
    { createdAt: 501, id: 'c1999' },
  ])
  expect(scans[0]).toMatchObject({ tenant: 'default', at: null, limit: 1_000 })
})

test('a count of whole pages ends with an empty one', async () => {
  const { bulk, scans } = withConversations(1_000)
  expect(await bulk.count({ action: 'cancel' })).toEqual({ matches: 100, isPartial: false })
  expect(scans).toHaveLength(2)
})

test('a count looks at the newest 100,000 conversations, and says that there may be more', async () => {
  const { bulk, scans } = withConversations(200_000)
  expect(await bulk.count({ action: 'cancel' })).toEqual({ matches: 10_000, isPartial: true })
  expect(scans).toHaveLength(100)
})

test('a job has a new id and is of the system, unless the caller says otherwise, and is kept for 30 days', async () => {
  const { bulk, started } = withConversations(0)
  const [one, two] = [await bulk.start({ action: 'cancel' }), await bulk.start({ action: 'cancel' })]
  expect(one.id).not.toBe(two.id)
  expect(one).toMatchObject({ tenant: 'default', who: 'system', failures: [], skippedFor: {}, problem: null })
  await bulk.start({ action: 'retry', id: 'nightly', tenant: 'acme', who: 'ann', force: true, perSecond: 5 })
  const spec = { filter: {}, force: true, perSecond: 5 }
  expect(started.at(-1)).toEqual({
    job: { id: 'nightly', tenant: 'acme', action: 'retry', who: 'ann', spec },
    keepMs: 30 * 24 * 3_600_000,
  })
})

test('a known id of a job of another tenant, action or request is refused', async () => {
  const { bulk } = withConversations(0)
  const known = { id: 'nightly', tenant: 'acme', action: 'retry', perSecond: 5 } as const
  const held = await bulk.start(known)
  const store = {
    jobs: { start: async () => ({ ...held, spec: { filter: {}, force: false, perSecond: 5 }, report: null }) },
  }
  const other = bulkVerbs(store as unknown as Pick<Store, 'jobs'>)
  expect(await other.start(known)).toMatchObject({ id: 'nightly' })
  const changes: readonly Partial<BulkStart>[] = [{ tenant: 'default' }, { action: 'cancel' }, { perSecond: 6 }]
  for (const change of changes)
    await expect(other.start({ ...known, ...change })).rejects.toMatchObject({ code: 'invalid_argument' })
})
