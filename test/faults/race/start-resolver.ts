import { spawnChild } from '../harness/spawn-child.ts'
import type { Attempt, ResolverInput, ResolverMessage, Task } from './resolver-child.ts'

export type Resolver = {
  /** Resolves with what each attempt came to. */
  resolve(tasks: readonly Task[]): Promise<readonly Attempt[]>
  stop(): Promise<void>
}

/** A process that resolves calls when it is told to. */
export async function startResolver(input: ResolverInput): Promise<Resolver> {
  let settle: Settle | null = null
  let hasStopped = false
  const next = (): Promise<ResolverMessage> =>
    new Promise((resolve, reject) => {
      settle = { resolve, reject }
    })
  const ready = next()
  const child = spawnChild<ResolverMessage>({
    script: new URL('./resolver-child.ts', import.meta.url),
    input,
    onMessage: (message) => settle?.resolve(message),
  })
  void child.ended.then(({ code, complaint }) => {
    if (!hasStopped) settle?.reject(new Error(`resolver ${input.who} ended with ${code}: ${complaint}`))
  })
  await ready
  return {
    async resolve(tasks) {
      const answer = next()
      child.tell(JSON.stringify(tasks))
      const message = await answer
      return message.type === 'resolved' ? message.attempts : []
    },
    async stop() {
      hasStopped = true
      child.kill()
      await child.ended
    },
  }
}

type Settle = { readonly resolve: (message: ResolverMessage) => void; readonly reject: (error: Error) => void }
