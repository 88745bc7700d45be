import type { ConversationState } from '../../log/state.ts'
import type { Children } from '../../view/view.ts'
import type { Channels } from './channels.ts'
import { ChildTree } from './child-tree.ts'

type Follow<T> = {
  readonly tenant: string
  readonly id: string
  readonly channels: Channels
  /** Not null ends the wait. */
  readonly until: (state: ConversationState, children: Children) => T | null
  readonly signal: AbortSignal
  /** What the caller has written: where the owner here knows that much, nothing is read. Null: all that there is by now counts. */
  readonly writtenSeq: number | null
}

/** Waits until the log, with those of its child agents, says something. Rejects when the signal is aborted or the log cannot be read. */
export async function follow<T>({ tenant, id, channels, until, signal, writtenSeq }: Follow<T>): Promise<T> {
  const channel = channels.of(tenant, id)
  let stop = (): void => {}
  try {
    return await new Promise<T>((resolve, reject) => {
      let isUpToDate = false
      const found = (): T | null => (channel.state ? until(channel.state, tree.children(id, channel.state)) : null)
      const look = (): void => {
        const answer = isUpToDate ? found() : null
        if (answer !== null) resolve(answer)
      }
      const tree = new ChildTree(channels, tenant, look)
      const onAbort = (): void => reject(signal.reason)
      const stopListening = channel.listen({ appended: look, replaced: look, failed: reject })
      signal.addEventListener('abort', onAbort, { once: true })
      stop = () => {
        stopListening()
        tree.stop()
        signal.removeEventListener('abort', onAbort)
      }
      if (signal.aborted) onAbort()
      const begin = (): void => {
        isUpToDate = true
        look()
      }
      // What is known here may be older than what the caller knows of. It is good enough to wait for what comes, but not to answer from.
      const isWaiting = writtenSeq !== null && channel.beginAt(writtenSeq) && found() === null
      if (isWaiting) isUpToDate = true
      else channel.refresh().then(begin, reject)
    })
  } finally {
    stop()
    channels.tidy(tenant, id)
  }
}
