import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver, memoryStore } from '../../src/store/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import { desk, listener } from './subscriber-desk.ts'

test('doctor says which subscribers no process has claimed for 7 days', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock, logger: silentLogger })
  await store.outbox!.register([{ name: 'gone', types: ['titled'], agent: null }])
  const findings: Finding[] = []
  await examineStore(store, { onFinding: (found) => findings.push(found) })
  expect(findings).toEqual([])
  await clock.set(clock.now() + 7 * 24 * 3_600_000)
  await examineStore(store, { onFinding: (found) => findings.push(found) })
  expect(findings).toMatchObject([{ code: 'subscriber_stopped', severity: 'notice' }])
  expect(findings[0]!.problem).toContain("'gone'")
  await store.close()
})

test('a store without an outbox refuses subscribers, and works without them', async () => {
  const { outbox: _, ...driver } = memoryDriver()
  const store = createStore(driver, { logger: silentLogger })
  const { subscriber } = listener(['waiting'])
  expect(() => createRuntime({ agents: [desk()], store, subscribers: [subscriber] })).toThrow(
    expect.objectContaining({ code: 'outbox_unsupported' }),
  )
  const runtime = createRuntime({ agents: [desk()], store, logger: silentLogger })
  expect(await (await runtime.conversation('chat', { agent: 'desk' }).send('hi')).outcome()).toMatchObject({
    text: 'hello',
  })
  await expect(runtime.failedDeliveries()).rejects.toMatchObject({ code: 'outbox_unsupported' })
  await runtime.close()
  await store.close()
})
