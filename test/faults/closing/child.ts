import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../../../src/base/errors/store-errors.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { createStore } from '../../../src/store/create-store.ts'
import { memoryDriver } from '../../../src/store/memory/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'

export type ClosingInput = {
  /** Null: a store in memory that fails with the first start of a tool after all messages are sent, which may have been written, and for ever after. */
  readonly target: Target | null
  readonly drainMs: number
}

export type ClosingMessage = { readonly type: 'working' } | { readonly type: 'closed'; readonly ms: number }

/** A node with turns under way, which closes when it is told to and then ends by itself. */
const { target, drainMs } = childInput<ClosingInput>()
let areAllSent = false
dieWithParent()
const store = target ? await openStore(target) : failingStore()
const work = defineTool({
  name: 'work',
  description: 'Works for a while',
  input: { type: 'object', properties: {} },
  run: () => sleep(300).then(() => 'x'.repeat(20_000)),
})
const model = scriptedModel(() => ({ calls: [{ tool: 'work', args: {} }] }))
const agent = defineAgent({ name: 'busy', model, tools: [work] })
const runtime = createRuntime({ agents: [agent], store, logger: silentLogger, pollMs: 50 })
for (let n = 0; n < 4; n++) await runtime.conversation(`c${n}`, { agent: 'busy' }).send('go')
areAllSent = true
await sleep(500)
say<ClosingMessage>({ type: 'working' })
onParentLine(() => void close())

async function close(): Promise<void> {
  const begun = performance.now()
  await runtime.close({ drainMs })
  say<ClosingMessage>({ type: 'closed', ms: performance.now() - begun })
  process.exit(0)
}

function failingStore(): Store {
  const driver = memoryDriver()
  let isBroken = false
  const away = () => new StoreError('the connection is gone', { ambiguous: true })
  const unlessBroken =
    <Args extends unknown[], T>(method: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (isBroken) throw away()
      return method(...args)
    }
  return createStore({
    ...driver,
    commit: unlessBroken(async (...args: Parameters<typeof driver.commit>) => {
      const outcome = await driver.commit(...args)
      isBroken = areAllSent && args[2].events.some(({ type }) => type === 'tool_started')
      if (isBroken) throw away()
      return outcome
    }),
    readEvents: unlessBroken(driver.readEvents),
    loadSince: unlessBroken(driver.loadSince),
    renewLeases: unlessBroken(driver.renewLeases),
    releaseLease: unlessBroken(driver.releaseLease),
  })
}
