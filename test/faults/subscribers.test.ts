import { expect, inject, test } from 'vitest'
import { until } from '../stories/until.ts'
import { expectEndured } from './expect-endured.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { openStore } from './harness/target.ts'
import { withTarget } from './harness/with-target.ts'
import type { LethalInput, LethalMessage } from './subscribers/lethal-worker.ts'
import { subscribers } from './subscribers.ts'

const timeout = 90_000

test('events reach a failing receiver at least once and in order, though its process is killed three times, on SQLite', {
  timeout,
}, async () => {
  expectEndured(await subscribers({ store: 'sqlite', seed: 1, rounds: 400 }))
})

test('events reach a failing receiver at least once and in order, though its process is killed three times, on Postgres', {
  timeout,
}, async () => {
  expectEndured(await subscribers({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 2, rounds: 400 }))
})

test.each(['sqlite', 'postgres'] as const)(
  'a delivery that ends its process each time is given up, and the rest of its line follows (%s)',
  {
    timeout,
  },
  async (store) => {
    await withTarget({ store, postgresUrl: inject('postgresUrl') }, async (target) => {
      const data = await openStore(target)
      await data.outbox!.register([{ name: 'titles', types: ['titled'], agent: null }])
      for (const id of ['lethal', 'lethal', 'other'])
        await data.appendEvent(id, { type: 'titled', content: { title: 'new' } })
      const told: string[] = []
      let deaths = 0
      let worker: ReturnType<typeof start>
      const start = () => {
        const child = spawnChild<LethalMessage>({
          script: new URL('./subscribers/lethal-worker.ts', import.meta.url),
          input: { target } satisfies LethalInput,
          onMessage: ({ place }) => void told.push(place),
        })
        void child.ended.then(({ signal }) => {
          if (isOver || signal !== 'SIGKILL') return
          deaths += 1
          worker = start()
        })
        return child
      }
      let isOver = false
      worker = start()
      try {
        await until(() => told.includes('lethal 2') && told.includes('other 1'))
        expect([deaths, [...new Set(told)].sort()]).toEqual([2, ['lethal 2', 'other 1']])
        const error = expect.stringContaining('the process ended while it ran')
        expect(await data.outbox!.failed()).toMatchObject([{ conversationId: 'lethal', seq: 1, tries: 2, error }])
      } finally {
        isOver = true
        worker.kill()
        await worker.ended
        await data.close()
      }
    })
  },
)
