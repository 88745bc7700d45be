import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from '../../base/logger.ts'
import type { Agent } from '../../define/agent.ts'
import { defineAgent } from '../../define/define-agent.ts'
import { defineFlow } from '../../define/define-flow.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { createRuntime } from '../../runtime/create-runtime.ts'
import type { Runtime, Verbs } from '../../runtime/runtime.ts'
import { makeFolder } from '../../server/node/local-token.ts'
import { sqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { unlessUnwritable } from '../output.ts'
import type { DemoModels } from './demo-models.ts'
import { type Showcase, showcase } from './showcase.ts'
import { orders, researcherTools, supportTools, type ToolSurroundings } from './support-tools.ts'

export type DemoOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly user: string
  readonly logger: Logger
  /** Every process that has an agent of this name may work on its conversations. */
  readonly agentName: string
  /** Default: true. */
  readonly work?: boolean
}

export type Demo = {
  readonly store: Store
  readonly runtime: Runtime
  readonly verbs: Verbs
  readonly ledgerFile: string
  readonly showcase: Showcase
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/** A killed process holds its conversations this long. Short, because a person waits for the next process. */
const leaseMs = 2_000

/** The store, the agents and the runtime of the demo. */
export async function openDemo(options: DemoOptions): Promise<Demo> {
  const { storeFile, models, pace, user, logger, agentName, work = true } = options
  const folder = dirname(storeFile)
  await unlessUnwritable(folder, 'name another file with --store', () => makeFolder(folder))
  const ledgerFile = join(folder, 'demo-ledger.jsonl')
  const { support, researcher } = demoAgents(agentName, models, { ledgerFile, pace, flows: () => runtime })
  const shown = showcase('desk')
  const agents: readonly Agent[] = [support, researcher, ...shown.agents]
  const store = sqliteStore({ path: storeFile, logger })
  // A file that is not a store is reported once, here, and not by every part that reads it.
  await store.listConversations({ limit: 1 })
  const runtime: Runtime = createRuntime({ agents, flows: [returnFlow(pace)], store, logger, leaseMs, work })
  const verbs = runtime.as(createScope({ user }) as Scope)
  return {
    store,
    runtime,
    verbs,
    ledgerFile,
    showcase: shown,
    async close({ drainMs = 3_000 } = {}) {
      await runtime.close({ drainMs })
      await store.close()
    },
  }
}

/** A support agent, and the colleague it asks. */
function demoAgents(name: string, models: DemoModels, surroundings: Omit<ToolSurroundings, 'researcher'>) {
  // The script cannot summarise.
  const context = models.isScripted ? { context: { summarise: false as const } } : {}
  const researcher = defineAgent({
    name: `${name}-researcher`,
    model: models.researcher,
    instructions: 'You find things out for a lamp shop. Read the notes, ask the supplier, and answer in two sentences.',
    tools: researcherTools,
    audit: 'full',
    ...context,
  })
  const support = defineAgent({
    name,
    model: models.support,
    instructions: [
      'You are the support of a small lamp shop. Be brief and friendly. Use the tools; never invent what they would say.',
      'If a tool says that its outcome is unknown, tell exactly that, and do not run it again unless you are asked to.',
      `The orders are: ${JSON.stringify(orders)}.`,
    ].join('\n'),
    tools: supportTools({ ...surroundings, researcher }),
    audit: 'full',
    ...context,
  })
  return { support, researcher }
}

/** The return of a parcel: a label now, then days of waiting without a process, then the shelf. */
export function returnFlow(pace: number) {
  return defineFlow({
    name: 'return',
    version: 2,
    input: { type: 'object', properties: { orderId: { type: 'string' } }, required: ['orderId'] },
    run: async (flow, input) => {
      const { orderId } = input as { readonly orderId: string }
      const label = await flow.step('print label', { input: { orderId } }, () => `R-${orderId}`)
      const question = `Has the parcel of ${orderId} arrived undamaged?`
      const isWhole = await flow.suspend({ question, label }, { schema: { type: 'boolean' } })
      await flow.step('inspect and put back', { input: { orderId } }, async ({ signal }) => {
        await wait(800 * pace, undefined, { signal })
        return 'as good as new'
      })
      return { orderId, label, state: isWhole === true ? 'back on the shelf' : 'written off' }
    },
  })
}
