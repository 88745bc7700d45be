import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { Persistence } from '../../../src/snapshot/persistence.ts'
import type { Store } from '../../../src/store/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

/** A runtime with an agent that asks before it pays, and an app that keeps snapshots and payments in files. */
export function startLife(store: Store, folder: string) {
  const snapshotFile = join(folder, 'snapshot.json')
  const persistence: Persistence = {
    persistState: (_, state) => writeFileSync(snapshotFile, JSON.stringify(state)),
    loadState: () => readSnapshot(snapshotFile),
    deleteState: () => rmSync(snapshotFile, { force: true }),
  }
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pay', input: z.object({}), approval: 'required' },
    run: (_, { callId }) => appendFileSync(join(folder, 'paid'), `${callId}\n`),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Paid.' : { calls: [{ tool: 'pay', args: {} }] },
  )
  const agent = defineAgent({ name: 'helper', model, tools: [pay] })
  const runtime = createRuntime({ agents: [agent], store, persistence, logger: silentLogger, leaseMs: 500, pollMs: 20 })
  return { runtime, chat: runtime.conversation('c1', { agent: 'helper' }) }
}

/** Restores the conversation, approves what it waits for, and waits for its end. */
export async function approveRestored({ chat }: ReturnType<typeof startLife>): Promise<void> {
  if ((await chat.events()).length === 0) await chat.continue()
  const { pending } = await chat.view()
  if (pending[0]) await chat.approve(pending[0])
  await chat.outcome()
}

function readSnapshot(file: string): never | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as never
  } catch {
    return null
  }
}
