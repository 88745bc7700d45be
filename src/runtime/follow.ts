import type { ConversationState } from '../log/state.ts'
import type { Channels } from './channels.ts'

type Follow<T> = {
  readonly tenant: string
  readonly id: string
  readonly channels: Channels
  /** Not null ends the wait. */
  readonly until: (state: ConversationState) => T | null
  readonly signal: AbortSignal
}

/** Waits until the log says something. Rejects when the signal is aborted or the log cannot be read. */
export async function follow<T>({ tenant, id, channels, until, signal }: Follow<T>): Promise<T> {
  const channel = channels.of(tenant, id)
  let stopListening = (): void => {}
  try {
    return await new Promise<T>((resolve, reject) => {
      const look = (): void => {
        const found = channel.state && until(channel.state)
        if (found !== null) resolve(found)
      }
      stopListening = channel.listen({ next: look, failed: reject })
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      if (signal.aborted) reject(signal.reason)
      channel.refresh().then(look, reject)
    })
  } finally {
    stopListening()
    channels.tidy(tenant, id)
  }
}
