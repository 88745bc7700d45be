import { Channel } from '../../src/engine/live/channel.ts'
import type { Seal } from '../../src/engine/live/live-message.ts'
import { LiveRelay } from '../../src/engine/live/live-relay.ts'
import type { LiveBus, LiveMessage, LiveReceiver } from '../../src/store/live-bus.ts'
import type { Log } from './channel-log.ts'

/** A bus in this process that loses what a test wants lost, and shows what was sent. */
export class LossyBus implements LiveBus {
  readonly sent: (LiveMessage & { readonly from: string })[] = []
  loses: (message: LiveMessage) => boolean = () => false
  /** Nothing passes, and the senders know. */
  isCut = false
  readonly #open = new Map<string, LiveReceiver>()
  #links = 0

  join(receiver: LiveReceiver) {
    this.#links += 1
    const name = this.#links.toString(16).padStart(16, '0')
    return {
      name,
      open: () => {
        this.#open.set(name, receiver)
        setImmediate(() => receiver.connected())
      },
      send: async (batch: readonly LiveMessage[]) => {
        if (this.isCut) return false
        for (const message of batch) {
          this.sent.push({ ...message, from: name })
          if (!this.loses(message)) this.give(name, message)
        }
        return true
      },
      close: async () => void this.#open.delete(name),
    }
  }

  /** As another client of the bus would. */
  give(from: string, { to, text }: LiveMessage): void {
    for (const [name, receiver] of this.#open)
      if (name !== from && (to === null || to === name)) receiver.message(from, text)
  }

  mend(): void {
    this.isCut = false
    for (const receiver of this.#open.values()) receiver.connected()
  }
}

/** A node with a channel of the log. */
export function relayNode(bus: LiveBus, log: Log, seal?: Seal) {
  const relay = new LiveRelay(bus, seal)
  const channel = new Channel('story', log.read, (relayed) => relay.relayOf('default', relayed))
  const shown = (): string =>
    channel
      .view()
      .drafts.map(({ messageId, parts }) => `${messageId}: ${parts.map(({ text }) => text).join('|')}`)
      .join('; ')
  return { relay, channel, shown }
}
