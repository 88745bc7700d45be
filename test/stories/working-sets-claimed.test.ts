import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { PostgresSchema } from '../setup/postgres-schema.ts'
import { type RecordedStore, recordedStore } from './recorded-store.ts'
import { linesOf } from './texts.ts'

type Nodes = { readonly model: ReturnType<typeof echo>; readonly api: Runtime }

const echo = () => scriptedModel(({ prompt }) => `heard ${linesOf(prompt).at(-1)}`)

/** A worker, and a node that only takes messages. `through`: the worker's store. */
async function behindApiNode(through: (store: Store) => Store, tell: (nodes: Nodes) => Promise<void>): Promise<void> {
  const schema = PostgresSchema.take()
  const stores = [schema.open(), schema.open()].map((driver) => createStore(driver, { logger: silentLogger }))
  const model = echo()
  const agentOf = (answering: typeof model) => defineAgent({ name: 'echo', model: answering })
  const worker = createRuntime({ agents: [agentOf(model)], store: through(stores[0]!), logger: silentLogger })
  const options = { agents: [agentOf(echo())], store: stores[1]!, work: false, logger: silentLogger }
  const api = createRuntime(options) as unknown as Runtime
  try {
    await tell({ model, api })
  } finally {
    for (const runtime of [worker, api]) await runtime.close({ drainMs: 0 })
    for (const opened of stores) await opened.close()
  }
  await schema.giveBack()
}

test('a message that another node has taken is worked on without a reading of the log, and so is the next (postgres)', async () => {
  let counts: RecordedStore['counts'] = {}
  const through = (store: Store) => {
    const recorded = recordedStore(store)
    counts = recorded.counts
    return recorded.store
  }
  await behindApiNode(through, async ({ model, api }) => {
    for (const text of ['one', 'two']) {
      const sent = await api.conversation('c1', { agent: 'echo' }).send(text)
      expect(await sent.outcome()).toMatchObject({ status: 'completed', text: `heard user: ${text}` })
    }
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: one', 'assistant: heard user: one', 'user: two'])
  })
  const reads = ['streamEvents', 'loadSince', 'pageEvents', 'pageSince', 'latestSummary']
  expect(reads.map((read) => [read, counts[read] ?? 0])).toEqual(reads.map((read) => [read, 0]))
})

test('what is said while a claim is under way is read before the model is asked (postgres)', async () => {
  const gate = Promise.withResolvers<void>()
  const claimed = Promise.withResolvers<void>()
  const heard = Promise.withResolvers<void>()
  const through = (store: Store): Store => {
    store.onWake(({ id, seq }) => id === 'c1' && seq >= 2 && heard.resolve())
    return {
      ...store,
      claimDue: async (claim) => {
        const found = await store.claimDue(claim)
        if (found.length > 0) claimed.resolve()
        if (found.length > 0) await gate.promise
        return found
      },
    }
  }
  await behindApiNode(through, async ({ model, api }) => {
    const chat = api.conversation('c1', { agent: 'echo' })
    const sent = await chat.send('one')
    await claimed.promise
    await chat.send('and two', { whenBusy: 'steer' })
    await heard.promise
    gate.resolve()
    expect(await sent.outcome()).toMatchObject({ status: 'completed' })
    expect(model.calls.map(({ prompt }) => linesOf(prompt))).toEqual([['user: one', 'user: and two']])
  })
})
