import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { type Scope, systemScope } from '../../src/define/scope.ts'
import { createNode } from '../../src/engine/node.ts'
import { Owner } from '../../src/engine/turn/owner.ts'
import type { TurnContext } from '../../src/engine/turn/turn-context.ts'
import { TurnTools } from '../../src/engine/turn/turn-tools.ts'
import type { NewEvent } from '../../src/log/events.ts'
import { loadWhole } from '../../src/store/working-sets.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ownedLog } from './owned-log.ts'
import { nodeSettings } from './working-node.ts'

export const conversationId = 'c1'
const id = conversationId
const tenant = 'default'

/** An owner of a conversation in memory, by a clock that tests move. `meddle` comes before what the store is asked for. */
export async function owningConversation(agent: Agent, events: readonly NewEvent[], more: Partial<TurnContext> = {}) {
  const change = { events: [...events], conversation: { agent: agent.name } }
  const { all, real, store, lease, clock, ...log } = await ownedLog({ tenant, id }, change)
  const told: string[] = []
  const fields: unknown[] = []
  const tell = (level: string) => (message: string, more?: object) => {
    told.push(`${level}: ${message}`)
    fields.push(more)
  }
  const scope = systemScope() as Scope
  const logger = { ...silentLogger, warn: tell('warn'), error: tell('error') }
  const settings = { ...nodeSettings(all, clock), logger, missingToolMs: 0 }
  const node = { ...createNode(settings), warnOfStore: tell('warn') }
  const { channels, workingSets } = node
  const context: TurnContext = {
    ...{ node, ref: { tenant, id }, agent, store },
    tools: new TurnTools(agent, node),
    channel: channels.of(tenant, id),
    live: channels.of(tenant, id).voice(lease.epoch),
    scopes: {
      canFail: false,
      ofTurn: async () => scope,
      ofStep: async () => scope,
      ofCall: async () => scope,
      ofSystem: async () => scope,
      whoOfStep: () => 'system',
      whoOfCall: () => 'system',
    },
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
  const { pass, meddle, commits, lost, types, epoch } = log
  return { owner, clock, pass, store: real, meddle, commits, told, fields, lost, types, workingSets, context, epoch }
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
