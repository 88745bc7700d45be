import { dirname, join } from 'node:path'
import type { Logger } from '../../base/logger.ts'
import type { Agent } from '../../define/agent.ts'
import { createScope } from '../../define/create-scope.ts'
import type { Scope } from '../../define/register.ts'
import { createRuntime } from '../../runtime/create-runtime.ts'
import type { Runtime, Verbs } from '../../runtime/runtime.ts'
import { makeFolder } from '../../server/node/make-folder.ts'
import { sqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import type { ChatTarget } from '../chat/chat-port.ts'
import { localConversation } from '../target/local-conversation.ts'
import { unlessUnwritable } from '../unless-unwritable.ts'
import { demoAgents } from './demo-agents.ts'
import type { DemoModels } from './demo-models.ts'
import { returnFlow } from './return-flow.ts'

export type DemoOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly user: string
  readonly logger: Logger
  /** Whoever has an agent of this name may work on its conversations. */
  readonly agentName: string
  /** Default: true. */
  readonly work?: boolean
}

export type Demo = {
  readonly store: Store
  readonly runtime: Runtime
  readonly verbs: Verbs
  readonly target: ChatTarget
  readonly ledgerFile: string
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/** A dead process holds its conversations for so long: short, because here somebody sits and waits for the next one. */
const leaseMs = 2_000

/** The store, the agents and the runtime of the demo. */
export async function openDemo(options: DemoOptions): Promise<Demo> {
  const { storeFile, models, pace, user, logger, agentName, work = true } = options
  const folder = dirname(storeFile)
  await unlessUnwritable(folder, 'name another file with --store', () => makeFolder(folder))
  const ledgerFile = join(folder, 'demo-ledger.jsonl')
  const { support, researcher } = demoAgents(agentName, models, { ledgerFile, pace, flows: () => runtime })
  const agents: readonly Agent[] = [support, researcher]
  const store = sqliteStore({ path: storeFile, logger })
  // A file that is no store is told of once, here, and not by everything that looks into it.
  await store.listConversations({ limit: 1 })
  const runtime: Runtime = createRuntime({ agents, flows: [returnFlow(pace)], store, logger, leaseMs, work })
  const verbs = runtime.as(createScope({ user }) as Scope)
  return {
    store,
    runtime,
    verbs,
    ledgerFile,
    target: { conversation: (id, { agent } = {}) => localConversation(verbs, id, agent) },
    async close({ drainMs = 3_000 } = {}) {
      await runtime.close({ drainMs })
      await store.close()
    },
  }
}
