import { readOptions } from '../base/errors/read-options.ts'
import { RuntimeClosedError } from '../base/errors/runtime-errors.ts'
import type { Agent } from '../define/agent.ts'
import { type Scope, systemScope } from '../define/scope.ts'
import { Worker } from '../engine/lease/worker.ts'
import { HintWaiters, LogPoll } from '../engine/live/log-poll.ts'
import { TurnWaiters } from '../engine/live/turn-outcome.ts'
import { createNode } from '../engine/node.ts'
import { checkScope } from '../engine/scopes.ts'
import { checkDuration } from '../store/checks.ts'
import { askAgent } from './ask-agent.ts'
import { deleteTenant } from './delete-conversation.ts'
import { readinessOf, sweepAudit } from './readiness.ts'
import type { Runtime, RuntimeOptions } from './runtime.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { readRuntimeOptions } from './runtime-options.ts'
import { verbs } from './verbs.ts'

const defaultDrainMs = 10_000
const readinessMs = 2_000

/** Puts the parts together and begins to work. Throws `DefinitionError` naming everything that is wrong. */
export function createRuntime<const Agents extends readonly Agent[]>(
  options: RuntimeOptions<Agents>,
): Runtime<Readonly<Agents>> {
  const node = createNode(readRuntimeOptions(options))
  const { work = true, auditTtlMs } = options
  const worker = work ? new Worker(node) : null
  const closing = new AbortController()
  const context: RuntimeContext = {
    node,
    worker,
    turnWaiters: new TurnWaiters(node.store, node.logger, async (session) => worker?.settled(session)),
    hints: new HintWaiters(closing.signal),
    closed: closing.signal,
    assertOpen: () => {
      if (closing.signal.aborted) throw new RuntimeClosedError()
    },
  }
  const disconnect = connect(context, auditTtlMs)
  worker?.startPolling(askAgent(context), (ref) => context.hints.hint(ref))

  let closed: Promise<void> | null = null
  async function close(drainMs: number): Promise<void> {
    await worker?.close(drainMs)
    closing.abort(new RuntimeClosedError())
    context.hints.tellAll()
    disconnect()
  }

  return {
    ...verbs<Agents>(context, options, systemScope() as Scope),
    as(scope) {
      checkScope(scope)
      return verbs<Agents>(context, options, scope)
    },
    deleteTenant: (tenant) => deleteTenant(context, tenant),
    readiness: () => readinessOf({ store: node.store, clock: node.clock, worker, timeoutMs: readinessMs }),
    async close(given) {
      const { drainMs = defaultDrainMs } = readOptions('options', given, ['drainMs'])
      checkDuration('drainMs', drainMs, 0)
      closed ??= close(drainMs)
      return closed
    },
  }
}

/** Hears of what is appended, by hints and by polling, and removes old audit rows. The returned function ends all of it. */
function connect({ node, worker, turnWaiters, hints }: RuntimeContext, auditTtlMs: number | undefined): () => void {
  const { store, clock, logger, channels } = node
  const tenants = new Set(['default'])
  const stopSweeping =
    auditTtlMs && worker ? sweepAudit({ store, clock, logger, ttlMs: auditTtlMs, tenants }) : () => {}
  const stopListening = store.onWake((hint) => {
    tenants.add(hint.tenant)
    worker?.hint(hint)
    hints.hint(hint)
    turnWaiters.hint(hint)
    channels.peek(hint.tenant, hint.id)?.hint(hint.seq)
  })
  const polling = new LogPoll(node, () => [...channels.watchers(), ...hints.watchers()])
  polling.start()
  return () => {
    polling.stop()
    stopSweeping()
    stopListening()
  }
}
