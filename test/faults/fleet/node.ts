import type { Logger } from '../../../src/base/logger.ts'
import type { Agent } from '../../../src/define/agent.ts'
import type { Flow } from '../../../src/define/define-flow.ts'
import { createScope, type Scope } from '../../../src/define/scope.ts'
import type { NewEvent } from '../../../src/log/events.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { serve } from '../../../src/server/index.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { faultsIn } from '../../upkeep/faults-in.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { type Build, fleetAgents, fleetLimits } from './agents.ts'

export type NodeInput = {
  readonly name: string
  readonly url: string
  readonly build: Build
  /** How far its clock is ahead of the machine's. */
  readonly skewMs: number
  /** Null: it serves no requests. */
  readonly port: number | null
  readonly work: boolean
  readonly leaseMs: number
  readonly drainMs: number
}

/** A word of the parent: to close, to look at the whole store, to tell whether it can work, or to set the clock. */
export type NodeOrder =
  | { readonly type: 'close' }
  | { readonly type: 'examine' }
  | { readonly type: 'ready?' }
  | { readonly type: 'clock'; readonly skewMs: number }

export type NodeMessage =
  | { readonly type: 'ready'; readonly port: number | null }
  /** A tool or a step began; `at` by the machine's clock, whatever the node's own says. */
  | { readonly type: 'ran'; readonly tool: string; readonly id: string; readonly at: number; readonly node: string }
  /** The model was called for a person's message. */
  | { readonly type: 'called'; readonly conversation: string; readonly key: string; readonly at: number }
  /** It ends now, because of what it works on. */
  | { readonly type: 'poisoned' }
  | { readonly type: 'logged'; readonly level: 'warn' | 'error'; readonly text: string }
  | { readonly type: 'examined'; readonly faults: readonly string[] }
  | { readonly type: 'readiness'; readonly isReady: boolean; readonly told: string }
  /** What it has closed by now. */
  | { readonly type: 'closing'; readonly part: 'server' | 'runtime' | 'store' }
  | { readonly type: 'closed'; readonly tookMs: number }

/** The waits are short, so that what went silent is given up within a run. */
const waits = { connectTimeoutMs: 2_000, answerTimeoutMs: 2_000, hintCheckMs: 1_000 }

const input = childInput<NodeInput>()
dieWithParent()

let { skewMs } = input
const machineNow = Date.now
Date.now = () => machineNow() + skewMs

const tell = (level: 'warn' | 'error') => (text: string, details?: unknown) =>
  say<NodeMessage>({ type: 'logged', level, text: `${text}${reasonIn(details)}` })
const logger: Logger = { debug: () => {}, info: () => {}, warn: tell('warn'), error: tell('error') }
let attempts = 0
const store = postgresStore({ connectionString: input.url, logger, ...waits })
const { agents, flows } = fleetAgents(input.build, {
  ran: (tool, id) => say<NodeMessage>({ type: 'ran', tool, id, at: machineNow(), node: input.name }),
  called: (conversation, key) => say<NodeMessage>({ type: 'called', conversation, key, at: machineNow() }),
  attempt: () => `${input.name}-${process.pid}-${++attempts}`,
  mark: async (conversation, callId) => {
    const mark = { type: 'fleet_mark', content: { callId } } as unknown as NewEvent
    const { ok } = await store.commit(conversation, { events: [mark], key: `mark/${callId}` })
    if (!ok) throw new Error('the mark was refused')
  },
  die: () => {
    say<NodeMessage>({ type: 'poisoned' })
    process.kill(process.pid, 'SIGKILL')
  },
})
const runtime = createRuntime({
  agents: agents as readonly Agent[],
  flows: flows as unknown as readonly Flow[],
  ...{ store, logger, leaseMs: input.leaseMs, pollMs: 100, work: input.work },
  limits: { turnsPerTenant: fleetLimits.turnsPerTenant, accounts: { press: { turns: fleetLimits.press } } },
  restoreScope: (_, user) => createScope({ user }) as Scope,
})
const upkeep = { store, operatorToken: 'operator' }
const serving = { logger, authenticate, showErrors: true, limits: { waitMs: 1_500, heartbeatMs: 500 }, upkeep }
const server = input.port === null ? null : await serve(runtime, { port: input.port, ...serving })
onParentLine((line) => void obey(JSON.parse(line) as NodeOrder))
say<NodeMessage>({ type: 'ready', port: server?.port ?? null })

async function obey(order: NodeOrder): Promise<void> {
  if (order.type === 'clock') skewMs = order.skewMs
  else if (order.type === 'ready?') {
    const { isReady, ...parts } = await runtime.readiness()
    say<NodeMessage>({ type: 'readiness', isReady, told: JSON.stringify(parts) })
  } else if (order.type === 'examine') say<NodeMessage>({ type: 'examined', faults: await faultsIn(store) })
  else {
    const begun = performance.now()
    await server?.close({ drainMs: input.drainMs })
    say<NodeMessage>({ type: 'closing', part: 'server' })
    await runtime.close({ drainMs: input.drainMs })
    say<NodeMessage>({ type: 'closing', part: 'runtime' })
    await store.close()
    say<NodeMessage>({ type: 'closing', part: 'store' })
    say<NodeMessage>({ type: 'closed', tookMs: Math.round(performance.now() - begun) })
    process.exit(0)
  }
}

/** People say who they are, and are believed. */
function authenticate(request: Request): Scope | null {
  const user = request.headers.get('authorization')?.replace('Bearer ', '')
  return user ? (createScope({ user }) as Scope) : null
}

function reasonIn(details: unknown): string {
  const { error } = Object(details) as { error?: unknown }
  return error instanceof Error ? `: ${error.message}` : ''
}
