import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { type Scope, systemScope } from '../../src/define/scope.ts'
import { createNode } from '../../src/engine/node.ts'
import { Owner } from '../../src/engine/turn/owner.ts'
import type { TurnContext } from '../../src/engine/turn/turn-context.ts'
import type { NewEvent } from '../../src/log/events.ts'
import type { Change } from '../../src/store/change.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { TenantStore } from '../../src/store/store.ts'
import { loadWhole } from '../../src/store/working-sets.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { nodeSettings } from './working-node.ts'

export const conversationId = 'c1'
const id = conversationId
const tenant = 'default'

/** An owner of a conversation in memory, by a clock that tests move. `meddle` comes before what the store is asked for. */
export async function owningConversation(agent: Agent, events: readonly NewEvent[], more: Partial<TurnContext> = {}) {
  const clock = fakeClock()
  const all = memoryStore({ clock, logger: silentLogger })
  const real = all.forTenant(tenant)
  await real.commit(id, { events: [...events], conversation: { agent: agent.name } })
  const claimed = await real.claimLease(id, 'one', 3_600_000)
  if (claimed.type !== 'taken') throw new Error(`the lease is ${claimed.type}`)
  const { epoch } = claimed
  const meddle: { commit(change: Change): unknown; read(): unknown } = { commit: () => {}, read: () => {} }
  const commits: Change[] = []
  const store: TenantStore = {
    ...real,
    async commit(id, change) {
      await meddle.commit(change)
      const result = await real.commit(id, change)
      commits.push(change)
      return result
    },
    async pageEvents(id, range) {
      await meddle.read()
      return real.pageEvents(id, range)
    },
  }
  const told: string[] = []
  const tell = (level: string) => (message: string) => void told.push(`${level}: ${message}`)
  const lost: number[] = []
  const lease = {
    epoch,
    isCertain: () => true,
    renew: async () => {},
    lose: () => void lost.push(epoch),
  }
  const scope = systemScope() as Scope
  const logger = { ...silentLogger, warn: tell('warn'), error: tell('error') }
  const settings = { ...nodeSettings(all, clock), logger, missingToolMs: 0 }
  const node = { ...createNode(settings), warnOfStore: tell('warn') }
  const { channels, workingSets } = node
  const context: TurnContext = {
    ...{ node, ref: { tenant, id }, agent, store },
    channel: channels.of(tenant, id),
    scopes: { ofTurn: async () => scope, ofCall: async () => scope, ofSystem: async () => scope },
    family: {
      ...{ parent: null, patienceMs: 100, allowOneMore: () => () => {} },
      start: async () => {},
      cancel: async () => false,
      resolveParent: async () => {},
    },
    memory: node.contextMemories.of(tenant, id),
    ...more,
  }
  const owner = new Owner(context, lease, await loadWhole(real, id), null)
  const types = async () => (await real.streamEvents(id)).map(({ type }) => type)
  /** Code is given several turns of the event loop before and after. */
  const pass = async (ms: number) => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
    await clock.advance(ms)
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
  }
  return { owner, clock, pass, store: real, meddle, commits, told, lost, types, workingSets, context, epoch }
}

/** Calls `act` once and then says that it is done; `act` ends when the test says so. */
export function acting(ifInterrupted: 'rerun' | 'report' = 'report') {
  const runs: PromiseWithResolvers<string>[] = []
  const stopped: number[] = []
  const act = defineTool({
    ...{ name: 'act', description: 'Act', input: z.object({}), ifInterrupted },
    run: (_, { signal }) => {
      const run = Promise.withResolvers<string>()
      runs.push(run)
      signal.addEventListener('abort', () => void stopped.push(runs.length))
      return run.promise
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'act', args: {} }] },
  )
  return { agent: defineAgent({ name: 'worker', model, tools: [act] }), model, runs, stopped }
}
