import { currentBuild } from '../base/current-build.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { RuntimeClosedError } from '../base/errors/runtime-errors.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { type Scope, systemScope } from '../define/scope.ts'
import { NodeHeartbeat } from '../engine/lease/node-heartbeat.ts'
import { Worker } from '../engine/lease/worker.ts'
import { HintWaiters, LogPoll } from '../engine/live/log-poll.ts'
import { TurnWaiters } from '../engine/live/turn-outcome.ts'
import { createNode, type EngineNode } from '../engine/node.ts'
import { Deliveries } from '../engine/outbox/deliveries.ts'
import { checkScope } from '../engine/scopes.ts'
import { checkDuration } from '../store/checks.ts'
import { outboxOf } from '../store/outbox.ts'
import type { WakeHint } from '../store/store.ts'
import { askAgent } from './ask-agent.ts'
import type { Authorize } from './authorize/authorize.ts'
import { Cursors } from './authorize/judged-page.ts'
import { bulkVerbs } from './bulk/bulk-verbs.ts'
import { JobRunner } from './bulk/job-runner.ts'
import { ChangesInTurn } from './conversation-state.ts'
import { deleteTenant } from './delete-conversation.ts'
import { preflight } from './preflight/preflight.ts'
import { readinessOf, sweepAudit } from './readiness.ts'
import type { Runtime, RuntimeOptions } from './runtime.ts'
import type { Authorization, RuntimeContext } from './runtime-context.ts'
import { allSubscribers, readRuntimeOptions } from './runtime-options.ts'
import { signedFiles, stateSigner } from './signed-files.ts'
import { steeringVerbs } from './steer.ts'
import { verbs } from './verbs.ts'

const defaultDrainMs = 10_000
const readinessMs = 2_000

/** Puts the parts together and begins to work, except during the build of a framework (see `holdRuntime`). Throws `DefinitionError` naming everything that is wrong. */
export function createRuntime<const Agents extends readonly Agent[]>(
  options: RuntimeOptions<Agents>,
): Runtime<Readonly<Agents>> {
  const node = createNode(readRuntimeOptions(options))
  const { work = true, auditTtlMs, authorize } = options
  const build = work ? currentBuild() : null
  if (build) node.logger.warn(`the runtime does not work during ${build}; it only takes messages and answers reads`)
  const worker = work && !build ? new Worker(node) : null
  const subscribers = build ? [] : allSubscribers(options)
  const deliveries = subscribers.length > 0 ? new Deliveries(node, outboxOf(node.store), subscribers) : null
  const closing = new AbortController()
  const context: RuntimeContext = {
    node,
    worker,
    turnWaiters: new TurnWaiters(node.store, node.logger, async (session) => worker?.settled(session)),
    stateChanges: new ChangesInTurn(node.clock),
    hints: new HintWaiters(closing.signal),
    authorization: authorize ? authorizationBy(authorize, node) : null,
    subscribed: deliveries?.start(worker !== null) ?? null,
    closed: closing.signal,
    assertOpen: () => {
      if (closing.signal.aborted) throw new RuntimeClosedError()
    },
  }
  const disconnect = connect(context, auditTtlMs, deliveries)
  const heartbeat = new NodeHeartbeat(node, {
    works: worker !== null,
    onDrain: (drain) => worker?.drain(drain?.drainMs ?? null),
  })
  // A build must change nothing.
  if (!currentBuild()) heartbeat.start()
  worker?.startPolling(askAgent(context), (ref) => context.hints.hint(ref))

  const bulk = bulkVerbs(node.store)
  const jobs = worker && node.store.jobs ? new JobRunner(context, node.store.jobs) : null
  jobs?.start()

  let closed: Promise<void> | null = null
  async function close(drainMs: number): Promise<void> {
    await Promise.all([worker?.close(drainMs), deliveries?.close(drainMs), jobs?.close(drainMs)])
    await heartbeat.stop()
    closing.abort(new RuntimeClosedError())
    context.hints.tellAll()
    disconnect()
    await node.relay?.close()
    await closeSources(node)
  }

  return {
    ...verbs<Agents>(context, options, systemScope() as Scope),
    as(scope) {
      checkScope(scope)
      return verbs<Agents>(context, options, scope)
    },
    deleteTenant: (tenant) => deleteTenant(context, tenant),
    subscribers: async () => outboxOf(node.store).subscribers(),
    failedDeliveries: async (page) => outboxOf(node.store).failed(page),
    retryDeliveries: async (ids) => outboxOf(node.store).endFailed(ids, 'retry'),
    discardDeliveries: async (ids) => outboxOf(node.store).endFailed(ids, 'discard'),
    ...steeringVerbs(context, heartbeat),
    removeSubscriber: async (name) => outboxOf(node.store).removeSubscriber(name),
    bulk: {
      ...bulk,
      async start(request) {
        context.assertOpen()
        const job = await bulk.start(request)
        jobs?.look()
        return job
      },
    },
    preflight: async (given) => preflight(node, node.store, given),
    signedFiles: signedFiles(node),
    signedStates: stateSigner(node.signer),
    readiness: () => readinessOf({ store: node.store, clock: node.clock, worker, timeoutMs: readinessMs }),
    async close(given) {
      const { drainMs = defaultDrainMs } = readOptions('options', given, ['drainMs'])
      checkDuration('drainMs', drainMs, 0)
      closed ??= close(drainMs)
      return closed
    },
  }
}

/** A source that fails to close must not make the runtime fail. */
async function closeSources({ agents, logger }: EngineNode): Promise<void> {
  const sources = new Set([...agents.values()].flatMap((agent) => agent.toolSources))
  for (const result of await Promise.allSettled([...sources].map(async (source) => source.close?.())))
    if (result.status === 'rejected') logger.warn('a source of tools could not be closed', { error: result.reason })
}

function authorizationBy(authorize: Authorize, { signer }: EngineNode): Authorization {
  const key = Buffer.from(signer.sign('cursor', 'key'), 'base64url')
  return { authorize, emptyTenant: `nowhere/${uuidV7()}`, cursors: new Cursors(key) }
}

/** Listens for appended events, by hints and by polling, and removes old audit rows. The returned function stops both. */
function connect(
  { node, worker, turnWaiters, hints }: RuntimeContext,
  auditTtlMs: number | undefined,
  deliveries: Deliveries | null,
): () => void {
  const { store, clock, logger, channels } = node
  const tenants = new Set(['default'])
  const stopSweeping =
    auditTtlMs && worker ? sweepAudit({ store, clock, logger, ttlMs: auditTtlMs, tenants }) : () => {}
  const polling = new LogPoll(node, () => [...channels.watchers(), ...hints.watchers()])
  const listener = (hint: WakeHint): void => {
    tenants.add(hint.tenant)
    worker?.hint(hint)
    deliveries?.hint()
    hints.hint(hint)
    turnWaiters.hint(hint)
    channels.peek(hint.tenant, hint.id)?.hint(hint.seq)
  }
  const stopListening = store.onWake(listener, () => polling.look())
  polling.start()
  return () => {
    polling.stop()
    stopSweeping()
    stopListening()
  }
}
