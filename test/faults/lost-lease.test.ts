import { randomUUID } from 'node:crypto'
import { afterEach, expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from '../stories/child-agents.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { recordedStore } from '../stories/recorded-store.ts'
import { until } from '../stories/until.ts'
import { startCuttingProxy } from './lost-acknowledgement/cutting-proxy.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A node behind a proxy that can take answers away. It is busy with another turn, so that it renews its leases all the time. */
async function busyNode(agents: readonly Agent[]) {
  const proxy = await startCuttingProxy(inject('postgresUrl'))
  const schema = `lost_lease_${randomUUID().replaceAll('-', '')}`
  const { store, counts } = recordedStore(postgresStore({ connectionString: proxy.url, schema, logger: silentLogger }))
  const busy = pacedModel()
  const runtime = createRuntime({
    agents: [...agents, defineAgent({ name: 'busy', model: busy })],
    store,
    logger: silentLogger,
    leaseMs: 600,
    // Nothing is found by looking: what goes on here does so because its lease is known.
    pollMs: 600_000,
  })
  closing.push(
    () => proxy.close(),
    () => store.close(),
    () => runtime.close({ drainMs: 0 }),
  )
  await runtime.conversation('long', { agent: 'busy' }).send('go')
  await busy.called(1)
  return { proxy, runtime, store, counts }
}

test('a message that brings the lease, and whose answer is lost, brings it by its repeat (postgres)', async () => {
  const { proxy, runtime, counts } = await busyNode([defineAgent({ name: 'echo', model: scriptedModel(() => 'Yes.') })])
  const cut = proxy.cutAfter('@message@')
  const turn = await runtime.conversation('c1', { agent: 'echo' }).send('@message@')
  expect(await cut.wasCut).toBe(true)
  expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Yes.' })
  expect(counts['claimLease'] ?? 0).toBe(0)
})

test('the result of a child agent whose answer is lost has its parent go on in the same process (postgres)', async () => {
  const paced = pacedModel()
  const child = defineAgent({ name: 'child', model: paced })
  const { boss } = bossOf([childTool('delegate', child)], [{ tool: 'delegate', args: { task: 'x' } }])
  const { proxy, runtime, store, counts } = await busyNode([boss])
  const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
  await paced.called(1)
  const { epoch } = await until(() => store.acquireLease('c1', 'somebody', 60_000))
  await store.releaseLease('c1', epoch)
  const acquired = counts['claimLease']
  // Who resolved the call: only in the log of the parent.
  const cut = proxy.cutAfter('agent:child')
  await paced.answer(1, 'ok')
  expect(await cut.wasCut).toBe(true)
  expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(counts['claimLease']).toBe(acquired)
})
