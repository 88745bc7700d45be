import type { ConversationState } from '../log/state.ts'
import type { Children } from '../view/view.ts'
import type { Channels } from './channels.ts'
import { ChildTree } from './child-tree.ts'

type Follow<T> = {
  readonly tenant: string
  readonly id: string
  readonly channels: Channels
  /** Not null ends the wait. */
  readonly until: (state: ConversationState, children: Children) => T | null
  readonly signal: AbortSignal
}

/** Waits until the log, with those of its child agents, says something. Rejects when the signal is aborted or the log cannot be read. */
export async function follow<T>({ tenant, id, channels, until, signal }: Follow<T>): Promise<T> {
  const channel = channels.of(tenant, id)
  let stop = (): void => {}
  try {
    return await new Promise<T>((resolve, reject) => {
      let isUpToDate = false
      const look = (): void => {
        const { state } = channel
        const found = isUpToDate && state ? until(state, tree.children(id, state)) : null
        if (found !== null) resolve(found)
      }
      const tree = new ChildTree(channels, tenant, look)
      const onAbort = (): void => reject(signal.reason)
      const stopListening = channel.listen({ next: look, replaced: look, failed: reject })
      signal.addEventListener('abort', onAbort, { once: true })
      stop = () => {
        stopListening()
        tree.stop()
        signal.removeEventListener('abort', onAbort)
      }
      if (signal.aborted) onAbort()
      // What is known here may be older than what the caller has just written.
      const begin = (): void => {
        isUpToDate = true
        look()
      }
      channel.refresh().then(begin, reject)
    })
  } finally {
    stop()
    channels.tidy(tenant, id)
  }
}
