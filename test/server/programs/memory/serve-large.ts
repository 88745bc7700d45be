import { silentLogger } from '../../../../src/base/logger.ts'
import { defineAgent } from '../../../../src/define/define-agent.ts'
import { defineFlow } from '../../../../src/define/define-flow.ts'
import { createRuntime } from '../../../../src/runtime/create-runtime.ts'
import { serve } from '../../../../src/server/index.ts'
import { postgresStore } from '../../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../../src/store/sqlite/index.ts'
import { scriptedModel } from '../../../../src/testing/scripted-model.ts'
import { childInput, dieWithParent, onParentLine, say } from '../../../faults/harness/child-channel.ts'

export type LargeInput = { readonly place: string }

export type LargeMessage = { readonly type: 'ready'; readonly port: number } | ({ readonly type: 'peak' } & Peak)

/** The most memory that was seen in use, and how long the process heard nothing at worst. */
export type Peak = { readonly rssMb: number; readonly heapMb: number; readonly blockedMs: number }

/** A server as anybody would start it, in a process that says how much memory it has needed. */
const { place } = childInput<LargeInput>()
dieWithParent()
const store = place.startsWith('postgres')
  ? postgresStore({ connectionString: place, logger: silentLogger })
  : sqliteStore({ path: place, logger: silentLogger })
const runtime = createRuntime({
  agents: [defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.') })],
  flows: [defineFlow({ name: 'import', version: 1, run: async () => null })],
  store,
  logger: silentLogger,
})
const isOperator = (request: Request): boolean => request.headers.get('x-operator') === 'yes'
const server = await serve(runtime, {
  port: 0,
  logger: silentLogger,
  showPrompts: true,
  upkeep: { store, isOperator },
})

let peak: Peak = { rssMb: 0, heapMb: 0, blockedMs: 0 }
let last = performance.now()
const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)
function look(): void {
  const { rss, heapUsed } = process.memoryUsage()
  const now = performance.now()
  peak = {
    rssMb: Math.max(peak.rssMb, megabytes(rss)),
    heapMb: Math.max(peak.heapMb, megabytes(heapUsed)),
    blockedMs: Math.max(peak.blockedMs, Math.round(now - last)),
  }
  last = now
}
setInterval(look, 10)
onParentLine((line) => {
  if (line !== 'peak') return
  look()
  say<LargeMessage>({ type: 'peak', ...peak })
  peak = { rssMb: 0, heapMb: 0, blockedMs: 0 }
})
say<LargeMessage>({ type: 'ready', port: server.port })
