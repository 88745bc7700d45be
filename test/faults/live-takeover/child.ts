import { silentLogger } from '../../../src/base/logger.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { writer } from '../../live/writer.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'

export type WriterInput = {
  readonly target: Target
  readonly name: string
  readonly delayMs: number
  readonly leaseMs: number
}

/** A node that works on the conversations it is told, and writes. */
const { target, name, delayMs, leaseMs } = childInput<WriterInput>()
dieWithParent()
const store = await openStore(target)
const runtime = createRuntime({ agents: [writer(name, delayMs)], store, logger: silentLogger, leaseMs, pollMs: 50 })
onParentLine((id) => void runtime.conversation(id, { agent: 'writer' }).send('Write.'))
say({ type: 'ready' })
