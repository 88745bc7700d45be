import { onFailpoint } from '../../../src/base/failpoint.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'

/** `diesAt`: how many points of a bulk job it reaches before it kills itself; null: it lives. */
export type WorkerInput = { readonly target: Target; readonly leaseMs: number; readonly diesAt: number | null }

export type WorkerMessage = { readonly type: 'working' }

/** A node without agents: it works on bulk jobs, and on nothing else. */
const { target, leaseMs, diesAt } = childInput<WorkerInput>()
dieWithParent()
let reached = 0
onFailpoint((name) => {
  if (!name.startsWith('bulk.')) return
  reached += 1
  if (reached === diesAt) process.kill(process.pid, 'SIGKILL')
})
createRuntime({ agents: [], store: await openStore(target), logger: silentLogger, leaseMs, pollMs: 5 })
say<WorkerMessage>({ type: 'working' })
