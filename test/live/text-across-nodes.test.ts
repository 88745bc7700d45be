import { afterEach, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { serve } from '../../src/server/index.ts'
import { createStore } from '../../src/store/create-store.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { PostgresSchema } from '../setup/postgres-schema.ts'
import { type Nodes, resumedElsewhere } from './text-across-nodes.ts'
import { writer } from './writer.ts'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function startNode(schema: PostgresSchema, name: string): Promise<string> {
  const store = createStore(schema.open(), { logger: silentLogger })
  const runtime = createRuntime({ agents: [writer(name, 5)], store, logger: silentLogger })
  const server = await serve(runtime, { port: 0, logger: silentLogger })
  closing.push(
    () => store.close(),
    () => runtime.close({ drainMs: 0 }),
    () => server.close({ drainMs: 0 }),
  )
  return server.url
}

test('a reader who goes to another node in mid-message, again and again, never sees text vanish or come twice (postgres)', async () => {
  const schema = PostgresSchema.take()
  closing.push(() => schema.giveBack())
  const nodes: Nodes = [await startNode(schema, 'a'), await startNode(schema, 'b')]
  const random = seededRandom(19)
  const resumes = await Promise.all(Array.from({ length: 6 }, () => resumedElsewhere(nodes, random)))
  expect(resumes.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(6)
})
