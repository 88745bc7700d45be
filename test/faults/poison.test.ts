import { describe, expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { openStore, type Target } from './harness/target.ts'
import { withTarget } from './harness/with-target.ts'
import { poisonAgents } from './poison/agents.ts'
import type { WorkerInput, WorkerMessage } from './poison/child.ts'

const innocents = 200
const workers = 3
const leaseMs = 1_000
const patienceMs = 150_000

describe.each(['sqlite', 'postgres'] as const)(
  'one conversation that ends its processes beside 200 others (%s)',
  (store) => {
    test('is quarantined after five of them, alone, and the others all end', { timeout: 180_000 }, async () => {
      await withTarget({ store, postgresUrl: inject('postgresUrl') }, async (target) => {
        const data = await openStore(target)
        const agents = poisonAgents(() => {})
        const api = createRuntime({ agents, store: data, logger: silentLogger, work: false })
        const send = (id: string, agent: 'innocent' | 'poison') => api.conversation(id, { agent }).send('go')
        const ids = Array.from({ length: innocents }, (_, n) => `innocent-${n}`)
        // In the middle, so that it is taken up together with others.
        await Promise.all(ids.slice(0, innocents / 2).map((id) => send(id, 'innocent')))
        await send('poison', 'poison')
        await Promise.all(ids.slice(innocents / 2).map((id) => send(id, 'innocent')))

        const fleet = startFleet(target)
        try {
          await untilQuiet(data)
          const listed = await data.listConversations({ limit: 1_000 })
          expect(listed.filter((record) => record.quarantine).map(({ id }) => id)).toEqual(['poison'])
          expect(fleet.deaths()).toBe(5)
          const ends = await Promise.all(ids.map(async (id) => (await data.streamEvents(id)).at(-1)))
          expect(ends.filter((event) => event?.type !== 'turn_ended' || event.content.status !== 'completed')).toEqual(
            [],
          )
        } finally {
          await fleet.stop()
          await api.close({ drainMs: 0 })
          await data.close()
        }
      })
    })
  },
)

/** So many workers at all times: whenever one dies, another is started, as a supervisor does. */
function startFleet(target: Target) {
  const alive = new Set<ReturnType<typeof spawnChild>>()
  let deaths = 0
  let isStopping = false
  const start = (): void => {
    const child = spawnChild<WorkerMessage>({
      script: new URL('./poison/child.ts', import.meta.url),
      input: { target, leaseMs } satisfies WorkerInput,
      onMessage: () => {},
    })
    alive.add(child)
    void child.ended.then(() => {
      alive.delete(child)
      if (isStopping) return
      deaths += 1
      start()
    })
  }
  for (let worker = 0; worker < workers; worker++) start()
  return {
    deaths: () => deaths,
    async stop() {
      isStopping = true
      const ending = [...alive].map((child) => {
        child.kill()
        return child.ended
      })
      await Promise.all(ending)
    },
  }
}

/** Until nothing is due and nothing is held but the quarantined. */
async function untilQuiet(data: Store): Promise<void> {
  for (const giveUpAt = Date.now() + patienceMs; ; ) {
    const listed = await data.listConversations({ limit: 1_000 })
    if (listed.every((record) => record.quarantine || record.status === 'idle')) return
    if (Date.now() > giveUpAt) {
      const open = listed.filter((record) => !record.quarantine && record.status !== 'idle')
      throw new Error(
        `not quiet within ${patienceMs} ms: ${open.map(({ id, status }) => `${id} ${status}`).join(', ')}`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
