import type { Agent } from '../agent/agent.ts'
import { systemClock } from '../clock/clock.ts'
import { ContextMemories } from '../context/context-memory.ts'
import { DefinitionError } from '../errors/definition-errors.ts'
import { RuntimeClosedError } from '../errors/runtime-errors.ts'
import { WorkingSets } from '../live/working-sets.ts'
import { consoleLogger } from '../logger/logger.ts'
import { systemScope } from '../scope/create-scope.ts'
import type { Scope } from '../scope/register.ts'
import { Channels } from './channels.ts'
import { conversationHandle, resolveAny } from './conversation-handle.ts'
import { identify } from './identity.ts'
import { KeepAlive } from './keep-alive.ts'
import type { Runtime, RuntimeOptions, Verbs } from './runtime.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { Scopes } from './scopes.ts'
import { Worker } from './worker.ts'

const defaultDrainMs = 10_000

/** Puts the parts together and begins to work. */
export function createRuntime<const Agents extends readonly Agent[]>(options: RuntimeOptions<Agents>): Runtime<Agents> {
  const agents = agentsByName(options.agents)
  const { store, clock = systemClock, logger = consoleLogger } = options
  const workingSets = new WorkingSets()
  const channels = new Channels(store, workingSets)
  const scopes = new Scopes(options.restoreScope)
  const keepAlive = new KeepAlive()
  const closing = new AbortController()
  const { leaseMs = 10_000, pollMs = 500, maxConcurrentTurns = 256 } = options
  const shared = { store, agents, channels, workingSets, scopes, keepAlive }
  const worker =
    options.work === false
      ? null
      : new Worker({
          ...shared,
          contextMemories: new ContextMemories(),
          clock,
          logger,
          leaseMs,
          pollMs,
          maxConcurrentTurns,
        })
  const context: RuntimeContext = {
    ...shared,
    worker,
    closed: closing.signal,
    assertOpen: () => {
      if (closing.signal.aborted) throw new RuntimeClosedError()
    },
  }
  const stopListening = store.onWake((hint) => {
    worker?.hint(hint)
    channels.peek(hint.tenant, hint.id)?.hint(hint.seq)
  })
  const stopPolling = every(pollMs, clock.after, () => channels.refreshAll())
  worker?.start()

  let closed: Promise<void> | null = null
  async function close(drainMs: number): Promise<void> {
    await worker?.close(drainMs)
    closing.abort(new RuntimeClosedError())
    stopPolling()
    stopListening()
  }

  return {
    ...verbs<Agents>(context, options, systemScope() as Scope),
    as: (scope) => verbs<Agents>(context, options, scope),
    close: ({ drainMs = defaultDrainMs } = {}) => (closed ??= close(drainMs)),
  }
}

function verbs<Agents extends readonly Agent[]>(
  context: RuntimeContext,
  options: RuntimeOptions<Agents>,
  scope: Scope,
): Verbs<Agents> {
  // Not before a verb is called: a runtime whose tenants are told by the scope can be created without one.
  const identity = () => identify(scope, options)
  const storeOf = () => context.store.forTenant(identity().tenant)
  const conversation = (id: string, { agent }: { agent?: string } = {}) =>
    conversationHandle(context, identity(), id, agent ?? null)
  return {
    conversation: conversation as Verbs<Agents>['conversation'],
    async resolve(conversationId, call, value) {
      const { tenant } = identity()
      const { state } = await context.workingSets.load(context.store.forTenant(tenant), tenant, conversationId)
      return resolveAny(conversation(conversationId), state, call, value)
    },
    conversations: async (filter) => storeOf().listConversations(filter),
    inbox: async (page) => {
      const items = await storeOf().pendingInbox(page)
      return items.map((item) => ({ ...item, agentMissing: item.agent === null || !context.agents.has(item.agent) }))
    },
  }
}

function agentsByName(agents: readonly Agent[]): Map<string, Agent> {
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  if (byName.size < agents.length)
    throw new DefinitionError('The runtime', ['two agents have the same name; give each its own'])
  return byName
}

function every(ms: number, after: (ms: number, callback: () => void) => () => void, work: () => void): () => void {
  let cancel = after(ms, tick)
  function tick(): void {
    work()
    cancel = after(ms, tick)
  }
  return () => cancel()
}
