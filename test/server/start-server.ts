import { afterEach } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { type Client, createClient } from '../../src/client/index.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import type { LanguageModel } from '../../src/define/language-model.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts'
import { type ServeOptions, type Server, serve } from '../../src/server/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, refund } from '../support/asking-tools.ts'

const open: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

export type Started = {
  readonly runtime: Runtime
  readonly store: Store
  readonly server: Server
  readonly client: Client
}

export type Starting = {
  readonly model?: LanguageModel
  readonly agents?: readonly Agent[]
  readonly flows?: readonly Flow[]
  readonly serve?: ServeOptions | ((store: Store) => ServeOptions)
  readonly token?: string
  readonly audit?: 'off' | 'full'
  readonly runtime?: (store: Store) => Partial<RuntimeOptions>
}

/** A server on a port of its own, over a store in memory. Closed after the test. */
export async function startServer(starting: Starting = {}): Promise<Started> {
  const { model = scriptedModel(() => 'Hello.'), serve: options, token, audit = 'off' } = starting
  const store = memoryStore({ logger: silentLogger })
  const agents = starting.agents ?? [defineAgent({ name: 'helper', model, tools: [refund, ask], audit })]
  const flows = starting.flows ?? [greeting]
  const more = starting.runtime?.(store)
  const runtime = createRuntime({ agents, flows, store, logger: silentLogger, ...more }) as unknown as Runtime
  const given = typeof options === 'function' ? options(store) : options
  const server = await serve(runtime, { port: 0, logger: silentLogger, ...given })
  open.push(
    () => store.close(),
    () => runtime.close({ drainMs: 0 }),
    () => server.close({ drainMs: 0 }),
  )
  const client = createClient({ url: server.url, ...(token === undefined ? {} : { token }) })
  return { runtime, store, server, client }
}

const greeting = defineFlow({
  name: 'greeting',
  version: 1,
  run: async (flow, input) => {
    const name = await flow.suspend('name?')
    return `${String(input)}, ${String(name)}`
  },
}) as unknown as Flow
