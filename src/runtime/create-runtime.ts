import { systemClock } from '../base/clock.ts'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { readMembers } from '../base/errors/read-given.ts'
import { RuntimeClosedError } from '../base/errors/runtime-errors.ts'
import { consoleLogger } from '../base/logger.ts'
import { redactingLogger } from '../base/redact/redacting-logger.ts'
import { createRedactor } from '../base/redact/redactor.ts'
import type { Agent } from '../define/agent.ts'
import { type Scope, systemScope } from '../define/scope.ts'
import { FlowRegistry } from '../engine/flow/flow-registry.ts'
import { FlowStates } from '../engine/flow/load-flow.ts'
import { Worker } from '../engine/lease/worker.ts'
import { Channels, HintWaiters, LogPoll } from '../engine/live/log-poll.ts'
import { TurnWaiters } from '../engine/live/turn-outcome.ts'
import { checkScope, Scopes } from '../engine/scopes.ts'
import { KeepAlive } from '../engine/side-tasks.ts'
import { MissingToolTimeouts } from '../engine/turn/running-calls.ts'
import { ContextMemories } from '../prompt/assemble-prompt.ts'
import { Snapshots } from '../snapshot/snapshots.ts'
import { checkDuration, checkWhole } from '../store/checks.ts'
import { WorkingSets } from '../store/working-sets.ts'
import { askAgent } from './ask-agent.ts'
import { readinessOf, sweepAudit } from './readiness.ts'
import type { Runtime, RuntimeOptions } from './runtime.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { agentsByName, runtimeProblems } from './runtime-problems.ts'
import { verbs } from './verbs.ts'

const defaultDrainMs = 10_000
const readinessMs = 2_000

/** Puts the parts together and begins to work. Throws `DefinitionError` naming everything that is wrong. */
export function createRuntime<const Agents extends readonly Agent[]>(
  options: RuntimeOptions<Agents>,
): Runtime<Readonly<Agents>> {
  const problems = runtimeProblems(options)
  if (problems.length > 0) throw new DefinitionError('The runtime', problems)
  const { store, clock = systemClock, work = true } = options
  const { logger: told = consoleLogger } = options
  const redact = createRedactor({ redact: options.redact, logger: told, clock })
  const logger = redactingLogger(told, redact)
  const { leaseMs = 10_000, pollMs = 500, maxConcurrentTurns = 256, missingToolMs = 600_000 } = options
  const { persistence, persistTimeoutMs = 5_000 } = options
  for (const [name, ms] of Object.entries({ leaseMs, pollMs, persistTimeoutMs })) checkDuration(name, ms)
  checkDuration('missingToolMs', missingToolMs, 0)
  checkWhole('maxConcurrentTurns', maxConcurrentTurns, 1)
  const closing = new AbortController()
  const workingSets = new WorkingSets()
  const channels = new Channels(store, workingSets, clock)
  const waiters = new HintWaiters(closing.signal)
  const shared = {
    ...{ store, channels, workingSets },
    agents: agentsByName(options.agents),
    addressable: new Map(options.agents.map((agent) => [agent.name, agent])),
    flows: new FlowRegistry(options.flows ?? []),
    flowStates: new FlowStates(),
    scopes: new Scopes(options.restoreScope),
    keepAlive: new KeepAlive(),
    snapshots: persistence ? new Snapshots(persistence, { clock, logger, timeoutMs: persistTimeoutMs }) : null,
  }
  const settings = { clock, logger, redact, leaseMs, pollMs, maxConcurrentTurns }
  const parts = {
    ...{ ...shared, ...settings, contextMemories: new ContextMemories(), askAgent: askAgent(() => context) },
    toolPatience: new MissingToolTimeouts(clock, missingToolMs),
  }
  const worker = work ? new Worker(parts) : null
  const context: RuntimeContext = {
    ...shared,
    redact,
    worker,
    closed: closing.signal,
    turnWaiters: new TurnWaiters(store, logger, (session) => worker?.settled(session) ?? Promise.resolve()),
    hintsOf: (ref, signal) => waiters.listen(ref, signal),
    assertOpen: () => {
      if (closing.signal.aborted) throw new RuntimeClosedError()
    },
  }
  const tenants = new Set(['default'])
  const { auditTtlMs: ttlMs } = options
  const stopSweeping = ttlMs && work ? sweepAudit({ store, clock, logger, ttlMs, tenants }) : () => {}
  const stopListening = store.onWake((hint) => {
    tenants.add(hint.tenant)
    worker?.hint(hint)
    waiters.hint(hint)
    context.turnWaiters.hint(hint)
    channels.peek(hint.tenant, hint.id)?.hint(hint.seq)
  })
  const polling = new LogPoll({ store, clock, logger, pollMs }, () => [...channels.watchers(), ...waiters.watchers()])
  polling.start()
  worker?.startPolling()

  let closed: Promise<void> | null = null
  async function close(drainMs: number): Promise<void> {
    await worker?.close(drainMs)
    closing.abort(new RuntimeClosedError())
    waiters.tellAll()
    polling.stop()
    stopSweeping()
    stopListening()
  }

  return {
    ...verbs<Agents>(context, options, systemScope() as Scope),
    as(scope) {
      checkScope(scope)
      return verbs<Agents>(context, options, scope)
    },
    readiness: () => readinessOf({ store, clock, worker, timeoutMs: readinessMs }),
    async close(given) {
      const { drainMs = defaultDrainMs } = readMembers('options', given, ['drainMs'])
      checkDuration('drainMs', drainMs, 0)
      closed ??= close(drainMs)
      return closed
    },
  }
}
