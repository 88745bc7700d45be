import type { Clock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createSigner } from '../../src/base/signer.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import { FlowRegistry } from '../../src/engine/flow/flow-registry.ts'
import { Worker } from '../../src/engine/lease/worker.ts'
import { createNode, type NodeSettings } from '../../src/engine/node.ts'
import type { NewEvent } from '../../src/log/events.ts'
import type { ClaimedDue, DueClaim } from '../../src/store/claim-due.ts'
import type { ClaimOutcome } from '../../src/store/lease.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

type Options = { readonly maxConcurrentTurns?: number; readonly pollMs?: number; readonly store?: Store }

/** A worker by itself, for sessions in memory, by a clock that tests move. What it asks of the store is counted, and `meddle` comes before it. */
export function workingNode(flows: readonly Flow[], { maxConcurrentTurns = 256, pollMs = 10, ...given }: Options = {}) {
  const clock = fakeClock()
  const real = given.store ?? memoryStore({ clock, logger: silentLogger })
  const meddle: { [method: string]: (...args: never[]) => unknown } = {}
  const calls: { readonly method: string; readonly args: readonly unknown[] }[] = []
  const answers = { claims: 0 }
  const through = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name: string) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => through(real.forTenant(tenant))
        if (typeof member !== 'function' || name === 'onWake' || name === 'announce') return member
        return async (...args: unknown[]) => {
          calls.push({ method: name, args })
          await meddle[name]?.(...(args as never[]))
          const answer: unknown = await member.apply(object, args)
          if (name === 'claimDue') answers.claims += (answer as readonly ClaimedDue[]).length
          if (name === 'claimLease') answers.claims += (answer as ClaimOutcome).type === 'taken' ? 1 : 0
          return answer
        }
      },
    })
  const store = through(real)
  const told: string[] = []
  const tell = (level: string) => (message: string) => void told.push(`${level}: ${message}`)
  const logger = { ...silentLogger, warn: tell('warn'), error: tell('error') }
  const settings = { ...nodeSettings(store, clock), logger, pollMs, maxConcurrentTurns, flows: new FlowRegistry(flows) }
  const worker = new Worker(createNode(settings))
  /** Code is given several turns of the event loop before and after. */
  const pass = async (ms: number) => {
    for (let turn = 0; turn < 10; turn++) await clock.advance(0)
    await clock.advance(ms)
    for (let turn = 0; turn < 10; turn++) await clock.advance(0)
  }
  const countOf = (name: string) => calls.filter(({ method }) => method === name).length
  /** How often it has taken a conversation, however it claimed it. */
  const claims = () => answers.claims
  const lastQuery = () => calls.findLast(({ method }) => method === 'claimDue')?.args[0] as DueClaim
  const types = async (id: string) => (await real.streamEvents(id)).map(({ type }) => type)
  return { worker, clock, pass, store: real, meddle, calls, countOf, claims, lastQuery, told, types }
}

/** A flow whose step ends when the test says so. */
export function heldFlow() {
  const gates = new Map<string, PromiseWithResolvers<string>>()
  const stopped: string[] = []
  const flow = defineFlow({
    name: 'f',
    version: 1,
    run: (flow, input) =>
      flow.step('work', ({ signal }) => {
        const gate = Promise.withResolvers<string>()
        gates.set(String(input), gate)
        signal.addEventListener('abort', () => void stopped.push(String(input)))
        return gate.promise
      }),
  })
  return { flow, stopped, running: () => [...gates.keys()], end: (id: string) => gates.get(id)!.resolve('done') }
}

/** No flow of these tests asks an agent. */
export const noAgents = () => async () => null

/** Of a node without agents and flows. */
export function nodeSettings(store: Store, clock: Clock): NodeSettings {
  return {
    ...{ store, clock, logger: silentLogger, redact: (text) => text, signer: createSigner(), snapshots: null },
    observer: null,
    liveBus: null,
    ...{ agents: new Map(), addressable: new Map(), flows: new FlowRegistry([]) },
    scope: {},
    ...{ leaseMs: 9_000, pollMs: 10, maxConcurrentTurns: 256, limits: {}, missingToolMs: 600_000 },
  }
}

/** A session that is due. */
export async function startSession(store: Store, id: string, flow = 'f'): Promise<void> {
  const started: NewEvent = { type: 'flow_started', content: { flow, version: '1', input: id, who: 'ann' } }
  const conversation = { kind: 'flow', agent: `flow:${flow}`, status: 'active' } as const
  await store.commit(id, { events: [started], conversation, wakeAt: 'now' })
}
