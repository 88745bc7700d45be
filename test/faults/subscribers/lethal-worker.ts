import { silentLogger } from '../../../src/base/logger.ts'
import { defineSubscriber } from '../../../src/define/define-subscriber.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'

export type LethalInput = { readonly target: Target }

export type LethalMessage = { readonly type: 'told'; readonly place: string }

/** A node that delivers titles, and dies of the first in the conversation `lethal`. */
const { target } = childInput<LethalInput>()
dieWithParent()
const subscriber = defineSubscriber({
  name: 'titles',
  on: ['titled'],
  timeoutMs: 100,
  retry: { maxAttempts: 2, baseMs: 10 },
  run({ conversationId, seq }) {
    if (conversationId === 'lethal' && seq === 1) process.kill(process.pid, 'SIGKILL')
    say<LethalMessage>({ type: 'told', place: `${conversationId} ${seq}` })
  },
})
createRuntime({
  agents: [],
  subscribers: [subscriber],
  store: await openStore(target),
  logger: silentLogger,
  pollMs: 30,
})
