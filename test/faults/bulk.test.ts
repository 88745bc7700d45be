import { describe, expect, inject, test } from 'vitest'
import { bulkVerbs } from '../../src/runtime/bulk/bulk-verbs.ts'
import type { Store } from '../../src/store/store.ts'
import { turnEnded, userMsg } from '../../src/testing/conformance/event-builders.ts'
import type { WorkerInput, WorkerMessage } from './bulk/child.ts'
import { seededRandom } from './harness/seeded-random.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { openStore, type Target } from './harness/target.ts'
import { withTarget } from './harness/with-target.ts'

const open = 1_000
const leaseMs = 50
const patienceMs = 60_000

describe.each([
  { store: 'sqlite', seed: 3, kills: 5 },
  { store: 'postgres', seed: 8, kills: 4 },
] as const)(
  'a bulk job over 1,000 conversations whose process is killed $kills times ($store)',
  ({ store, seed, kills }) => {
    test('cancels each once, and nothing that came later', { timeout: 120_000 }, async () => {
      await withTarget({ store, postgresUrl: inject('postgresUrl') }, async (target) => {
        const data = await openStore(target)
        const ids = Array.from({ length: open }, (_, n) => `open-${n}`)
        await begin(data, ids)
        const asked = ['again-1', 'again-2']
        for (const id of asked) await data.commit(id, { events: [userMsg(), turnEnded()], conversation: attrs })
        const bulk = bulkVerbs(data)
        const job = await bulk.start({ action: 'cancel', filter: { agent: 'till' }, who: 'ops', perSecond: 1_000 })
        const later = ['later-1', 'later-2', 'later-3']
        await begin(data, later)
        for (const id of asked) await data.commit(id, { events: [userMsg('more', 'turn-2')], conversation: attrs })

        const random = seededRandom(seed)
        let deaths = 0
        for (; deaths < kills; deaths++) await dies({ target, leaseMs, diesAt: random.int(5, 300) })
        const last = startWorker({ target, leaseMs, diesAt: null })
        try {
          const ended = await eventually(async () => {
            const now = await bulk.get(job.id)
            return now?.finishedAt ? now : null
          })
          expect(ended).toMatchObject({ state: 'done', done: open, skipped: asked.length, failed: 0, problem: null })
          expect(ended.skippedFor).toEqual({ began_later: asked.length })
        } finally {
          last.kill()
          await last.ended
        }
        const wrong = []
        for (const id of [...ids, ...later, ...asked]) {
          const names = await cancelsIn(data, id)
          if (names.join() !== (id.startsWith('open') ? 'ops' : '')) wrong.push([id, names])
        }
        expect(wrong).toEqual([])
        await data.close()
      })
    })
  },
)

const attrs = { agent: 'till', status: 'active' } as const

async function begin(store: Store, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => store.commit(id, { events: [userMsg()], conversation: attrs })))
}

async function cancelsIn(store: Store, id: string): Promise<string[]> {
  const events = await store.streamEvents(id)
  return events.flatMap(({ type, content }) => (type === 'cancel_requested' ? [content.who] : []))
}

function startWorker(input: WorkerInput & { readonly target: Target }) {
  return spawnChild<WorkerMessage>({ script: new URL('./bulk/child.ts', import.meta.url), input, onMessage: () => {} })
}

/** A worker that kills itself in the middle of the job. */
async function dies(input: WorkerInput): Promise<void> {
  const { signal, complaint } = await startWorker(input).ended
  expect([signal, complaint]).toEqual(['SIGKILL', complaint])
}

async function eventually<T>(look: () => Promise<T | null>): Promise<T> {
  for (const giveUpAt = Date.now() + patienceMs; Date.now() < giveUpAt; ) {
    const seen = await look()
    if (seen !== null) return seen
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the job has not ended')
}
