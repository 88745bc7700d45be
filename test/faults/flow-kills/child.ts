import { onFailpoint } from '../../../src/base/failpoint.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { isQuestion } from '../../../src/log/flow-questions.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { childInput, onParentLine, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'
import { type ChildMessage, type ChildOrder, forkOf, leaseMs } from './order.ts'
import { tenSteps } from './ten-steps.ts'

onParentLine((line) => void live(JSON.parse(line) as ChildOrder))
process.stdin.on('end', () => process.exit(0))
say<ChildMessage>({ type: 'ready' })

/** Not connected before it gets its orders: the parent waits until no child is connected. */
async function live({ session: id, kill }: ChildOrder): Promise<void> {
  const store = await openStore(childInput<Target>())
  await store.getConversation(id)
  const passings: Record<string, number> = {}
  onFailpoint((name) => {
    passings[name] = (passings[name] ?? 0) + 1
    if (name === kill?.failpoint && passings[name] === kill.passing) process.kill(process.pid, 'SIGKILL')
  })
  const flow = tenSteps((step, stepId) => say<ChildMessage>({ type: 'ran', step, id: stepId }))
  const runtime = createRuntime({ agents: [], flows: [flow], store, logger: silentLogger, leaseMs, pollMs: 10 })
  const session = runtime.flow(flow, id)
  await session.start(null)
  await session.resume('go on')
  const result = await session.outcome()
  // A copy that is cut at its question and goes on at once: it waits there again.
  const { seq } = (await session.events()).find(
    ({ type, content }) => type === 'flow_opened' && isQuestion(content.op),
  )!
  const fork = await session.fork(forkOf(id), { at: seq, run: true })
  await fork.outcome()
  onFailpoint(null)
  say<ChildMessage>({ type: 'done', passings, result })
  await runtime.close()
  await store.close()
  process.exit(0)
}
