import { silentLogger } from '../../../src/base/logger.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'
import { poisonAgents } from './agents.ts'

export type WorkerInput = { readonly target: Target; readonly leaseMs: number }

export type WorkerMessage = { readonly type: 'working' }

/** A node that works on whatever is due, until one of its conversations ends it. */
const { target, leaseMs } = childInput<WorkerInput>()
dieWithParent()
const agents = poisonAgents(() => process.kill(process.pid, 'SIGKILL'))
createRuntime({ agents, store: await openStore(target), logger: silentLogger, leaseMs, pollMs: 30 })
say<WorkerMessage>({ type: 'working' })
