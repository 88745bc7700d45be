import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { freshDatabase } from '../setup/fresh-database.ts'

const measuredMs = 6_000
const mostPerSecond = 4

test('a worker that has nothing to do asks at most four times a second, its notifications included (postgres)', {
  timeout: 60_000,
}, async () => {
  const store = postgresStore({ connectionString: await freshDatabase(inject('postgresUrl')) })
  const agent = defineAgent({ name: 'desk', model: scriptedModel([{ text: 'ok' }]) })
  const runtime = createRuntime({ agents: [agent], store })
  // It has worked, so that its connections for hints and live text are open.
  const { outcome } = await runtime.conversation('c1', { agent: 'desk' }).send('hi')
  expect(await outcome()).toMatchObject({ status: 'completed' })
  await sleep(1_000)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  await sleep(measuredMs)
  const texts = query.mock.calls.map(
    ([asked]) => (asked as unknown as { readonly text?: string }).text ?? String(asked),
  )
  query.mockRestore()
  await runtime.close()
  await store.close()
  expect(texts.length).toBeGreaterThan(measuredMs / 1_000)
  // One more: what is asked every three seconds may come three times in six.
  expect(texts.length, texts.join('\n')).toBeLessThanOrEqual((mostPerSecond * measuredMs) / 1_000 + 1)
})
