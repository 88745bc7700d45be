import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { doubling } from '../schemas/hostile-pairs.ts'
import { startChild } from './programs/start-child.ts'

const manyAs = JSON.stringify(`${'a'.repeat(50)}!`)

/** What a server took before schemas were bounded, and died of at every start. */
const killers: readonly [what: string, schema: JsonObject, answer: string, reason: string][] = [
  ['$defs that double forty times', doubling(40), '{}', 'schema_too_complex'],
  ['a pattern that backtracks', { pattern: '^(a+)+$' }, manyAs, 'invalid_object'],
  ['a pattern that nothing bounds', { pattern: '^(a+)\\1+$' }, manyAs, 'schema_too_complex'],
  ['a schema that is its own', { $ref: '#' }, '{}', 'schema_too_complex'],
]

test.each(killers)(
  'a turn in the log with %s fails, and the server lives, at its first start and at the next',
  { timeout: 60_000 },
  async (_, output, answer, reason) => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-killer-'))
    const path = join(folder, 'agents.db')
    await storeTurn(path, output)
    try {
      for (const start of [1, 2]) {
        const server = await startChild({ path, port: 0, deltas: 0, answer })
        try {
          const client = createClient({ url: server.url })
          const signal = AbortSignal.timeout(15_000)
          const outcome = await client.conversation('c').outcome('t1', { signal })
          expect(outcome, `start ${start}`).toMatchObject({ status: 'failed', reason })
          const { turnId } = await client.conversation(`other-${start}`, { agent: 'helper' }).send('Hi')
          expect(await client.conversation(`other-${start}`).outcome(turnId, { signal })).toMatchObject({
            status: 'completed',
          })
        } finally {
          await server.kill()
        }
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)

/** A message without an answer yet, with its own schema. */
async function storeTurn(path: string, output: JsonObject): Promise<void> {
  const store = sqliteStore({ path, logger: silentLogger })
  const message = { parts: [{ type: 'text' as const, text: 'Hi' }] }
  await store.commit('c', {
    events: [{ type: 'user_msg', content: { turnId: 't1', message, options: { maxSteps: 20, output }, who: 'ada' } }],
    conversation: { agent: 'helper' },
  })
  await store.close()
}
