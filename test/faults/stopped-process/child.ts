import { type Failpoint, onFailpoint } from '../../../src/base/failpoint.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'
import { leaseMs, stoppedAgents } from './agents.ts'

export type StoppedInput = { readonly target: Target; readonly stopAt: Failpoint }

export type StoppedMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'stopping' }
  | { readonly type: 'ran'; readonly what: string }
  | { readonly type: 'alive' }

/** Works like any node, and stops at a failpoint as if it had received SIGSTOP. */
const { target, stopAt } = childInput<StoppedInput>()
dieWithParent()
let isStopped = false
onFailpoint((name) => {
  if (name !== stopAt || isStopped) return
  isStopped = true
  say<StoppedMessage>({ type: 'stopping' })
  process.kill(process.pid, 'SIGSTOP')
})
const { agents, flows } = stoppedAgents((what) => say<StoppedMessage>({ type: 'ran', what }))
const store = await openStore(target)
const runtime = createRuntime({ agents, flows, store, logger: silentLogger, leaseMs, pollMs: 20 })
onParentLine((line) => {
  if (line === 'step') void runtime.flow('one-step', 'c1').start(null)
  else void runtime.conversation('c1', { agent: 'worker' }).send(line)
})
say<StoppedMessage>({ type: 'ready' })
setInterval(() => say<StoppedMessage>({ type: 'alive' }), leaseMs / 10)
