import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, type ChildEnd, type ChildOptions, spawnChild } from '../harness/spawn-child.ts'
import { Ledger, type WriterMessage } from './ledger.ts'
import type { WriterInput } from './writer-child.ts'

export type Writer = {
  readonly ledger: Ledger
  readonly child: Child
  /** Waits until `condition` holds; false when it did not in time, or the writer has ended. */
  until(condition: (ledger: Ledger) => boolean): Promise<boolean>
  /** Lets it finish what it began. */
  stop(): Promise<ChildEnd>
}

const patienceMs = 30_000

/** A process that commits until it is stopped, and whose every word is kept. */
export function startWriter(
  input: WriterInput,
  options: Pick<ChildOptions<WriterMessage>, 'wrapper' | 'nodeArguments'> = {},
): Writer {
  const ledger = new Ledger()
  let hasEnded = false
  const child = spawnChild<WriterMessage>({
    script: new URL('./writer-child.ts', import.meta.url),
    input,
    onMessage: (message) => ledger.hear(message),
    ...options,
  })
  const ended = child.ended.finally(() => (hasEnded = true))
  return {
    ledger,
    child,
    async until(condition) {
      const until = Date.now() + patienceMs
      while (!condition(ledger)) {
        if (hasEnded || Date.now() > until) return false
        await sleep(5)
      }
      return true
    },
    async stop() {
      child.tell('stop')
      const late = setTimeout(() => child.kill(), patienceMs)
      const end = await ended
      clearTimeout(late)
      return end
    },
  }
}
