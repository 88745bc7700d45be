import { expect, test } from 'vitest'
import { StoreError } from '../../base/errors/store-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Snapshots } from '../../snapshot/snapshots.ts'
import type { WorkingSets } from '../../store/working-sets.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Scopes } from '../scopes.ts'
import { ShutdownSnapshots } from './shutdown.ts'

const ref = (id: string) => ({ tenant: 't', id })

function taking(load: (id: string) => Promise<unknown> = async (id) => ({ state: id })) {
  const taken: unknown[] = []
  const warnings: string[] = []
  const clock = fakeClock()
  const snapshots = {
    persist: async (lifecycle: string, { agentId, conversationId }: { agentId: string; conversationId: string }) =>
      void taken.push(`${lifecycle} ${agentId} ${conversationId}`),
  } as unknown as Snapshots
  const parts = {
    store: { forTenant: () => ({ getConversation: async () => null }) } as never,
    workingSets: { loadWhole: (_store: unknown, _tenant: string, id: string) => load(id) } as unknown as WorkingSets,
    scopes: new Scopes({}, clock),
    ...{ clock, logger: { ...silentLogger, warn: (message: string) => void warnings.push(message) } },
  }
  return { taken, warnings, clock, shutdown: new ShutdownSnapshots({ ...parts, snapshots }), parts }
}

test('what was worked on is taken once, with the agent that worked on it last', async () => {
  const { shutdown, taken } = taking()
  shutdown.remember(ref('one'), 'old')
  shutdown.remember(ref('one'), 'new')
  shutdown.remember(ref('two'), 'other')
  await shutdown.take(ref('one'))
  await shutdown.take(ref('one'))
  await shutdown.take(ref('never'))
  expect(taken).toEqual(['on_shutdown new one'])
  await shutdown.takeAll()
  expect(taken).toEqual(['on_shutdown new one', 'on_shutdown other two'])
})

test('of more than two hundred, those that were worked on last are taken', async () => {
  const { shutdown, taken } = taking()
  for (let n = 0; n < 200; n++) shutdown.remember(ref(`c${n}`), 'a')
  shutdown.remember(ref('c0'), 'a')
  await shutdown.take(ref('none'))
  shutdown.remember(ref('c200'), 'a')
  await shutdown.takeAll()
  expect(taken).toHaveLength(200)
  expect(taken).toContain('on_shutdown a c0')
  expect(taken).toContain('on_shutdown a c200')
  expect(taken).not.toContain('on_shutdown a c1')
})

test('one whose log cannot be read, or not within two seconds, is told of and does not hold up the others', async () => {
  const { shutdown, taken, warnings, clock } = taking((id) =>
    id === 'away' ? Promise.reject(new StoreError('away')) : new Promise(() => {}),
  )
  shutdown.remember(ref('away'), 'a')
  shutdown.remember(ref('silent'), 'a')
  let isOver = false
  const all = shutdown.takeAll().then(() => (isOver = true))
  await clock.advance(1_999)
  expect([isOver, warnings]).toEqual([false, ['no snapshot could be taken at the shutdown']])
  await clock.advance(1)
  await all
  expect([taken, warnings.length]).toEqual([[], 2])
})

test('where the app keeps no snapshots, none is taken', async () => {
  const { parts, taken } = taking()
  const shutdown = new ShutdownSnapshots({ ...parts, snapshots: null })
  shutdown.remember(ref('one'), 'a')
  await shutdown.takeAll()
  expect(taken).toEqual([])
})
