import { onFailpoint } from '../../../src/base/failpoint.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineSubscriber } from '../../../src/define/define-subscriber.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { openStore } from '../harness/target.ts'
import { subscriberName, type WorkerMessage, type WorkerOrder } from './order.ts'

dieWithParent()
const { target, seed, kill } = childInput<WorkerOrder>()
const random = seededRandom(seed)
let passed = 0
onFailpoint((name) => {
  if (name === kill?.failpoint && ++passed === kill.passing) process.kill(process.pid, 'SIGKILL')
})
const receiver = defineSubscriber({
  ...{ name: subscriberName, on: ['note'], timeoutMs: 500, retry: { maxAttempts: 100, baseMs: 1, maxMs: 20 } },
  run({ conversationId, seq, id }) {
    const ok = !random.chance(1 / 3)
    say<WorkerMessage>({ type: 'told', id: conversationId, seq, event: id, ok })
    if (!ok) throw new Error('the receiver failed')
  },
})
const store = await openStore(target)
createRuntime({ agents: [], store, subscribers: [receiver], logger: silentLogger, pollMs: 20 })
say<WorkerMessage>({ type: 'ready' })
