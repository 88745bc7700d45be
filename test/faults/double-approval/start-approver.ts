import { spawnChild } from '../harness/spawn-child.ts'
import type { ApproverInput, ApproverMessage, Attempt, Effect, Order, WaitingCall } from './approver-child.ts'

export type Approver = {
  /** Resolves when the conversations wait for an approval. */
  send(conversations: readonly string[]): Promise<void>
  approve(calls: readonly WaitingCall[], at: number): Promise<readonly Attempt[]>
  stop(): Promise<void>
}

/** A process with a runtime of its own that approves when it is told to, and tells of every side effect. */
export async function startApprover(input: ApproverInput, onEffect: (effect: Effect) => void): Promise<Approver> {
  let settle: PromiseWithResolvers<ApproverMessage> | null = null
  let hasStopped = false
  const next = (): Promise<ApproverMessage> => {
    settle = Promise.withResolvers<ApproverMessage>()
    return settle.promise
  }
  const ready = next()
  const child = spawnChild<ApproverMessage>({
    script: new URL('./approver-child.ts', import.meta.url),
    input,
    onMessage: (message) => (message.type === 'paid' ? onEffect(message) : settle?.resolve(message)),
  })
  void child.ended.then(({ code, complaint }) => {
    if (!hasStopped) settle?.reject(new Error(`approver ${input.who} ended with ${code}: ${complaint}`))
  })
  await ready
  const order = (given: Order): Promise<ApproverMessage> => {
    const answer = next()
    child.tell(JSON.stringify(given))
    return answer
  }
  return {
    send: async (conversations) => void (await order({ type: 'send', conversations })),
    async approve(calls, at) {
      const message = await order({ type: 'approve', calls, at })
      return message.type === 'approved' ? message.attempts : []
    },
    async stop() {
      hasStopped = true
      child.kill()
      await child.ended
    },
  }
}
