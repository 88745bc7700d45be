/**
 * Carries what is live (text as it is written, progress, finer states) from the node that drives a conversation to the nodes that watch it. A bus moves texts between
 * nodes and knows nothing of conversations: who watches what, the order of attempts and epochs, and what happens after a loss is decided above it.
 *
 * Nothing it carries is ever the truth: a message may be lost, and then what is shown is late. So a bus must never delay or fail anything but itself.
 *
 * Stores for a fleet offer one (`Store.liveBus`); `createRuntime({ liveBus })` takes another. One over NATS: `open` subscribes to `perdure.live` and
 * `perdure.live.<name>`, and calls `connected` then and after each reconnect; `send` publishes each text to the subject of its receiver with the sender's name in a
 * header, and resolves with `true` after a flush; `message` is called for what arrives from others. A text fits the default limit of a NATS message.
 */
export type LiveBus = {
  /** A link for one node. Must do no I/O: the link connects when it is opened. */
  join(receiver: LiveReceiver): LiveLink
}

/** What a node does with what the bus brings. Does not throw. */
export type LiveReceiver = {
  /** A text from another node, whole, at most once, and in the order in which that node sent. `from`: the name of its link. May be anything: a bus need not know its senders. */
  message(from: string, text: string): void
  /** The link is connected, for the first time or again. Everything sent while it was down is lost. */
  connected(): void
}

/** `to`: the name of a link; null: all others. */
export type LiveMessage = { readonly to: string | null; readonly text: string }

/** One node's end of the bus. */
export type LiveLink = {
  /** No other link has it: 16 characters of `0-9a-f`. */
  readonly name: string
  /** Connects, and stays connected until closed. Must not wait or throw. Later calls do nothing. */
  open(): void
  /**
   * Resolves with true when all were handed over, and with false when some may be lost, as without a connection. Must not reject, and must resolve within a
   * time limit. The caller waits for it before it sends again, so a slow bus holds up what is live and nothing else, and needs no queue. A batch has at most
   * `maxBatchBytes` and each text at most `maxTextBytes`, in UTF-8.
   */
  send(batch: readonly LiveMessage[]): Promise<boolean>
  close(): Promise<void>
}

export const maxTextBytes = 96 * 1024
export const maxBatchBytes = 512 * 1024

/** A bus between runtimes of one process that share a store. */
export function processLiveBus(): LiveBus {
  const open = new Map<string, LiveReceiver>()
  let links = 0
  return {
    join(receiver) {
      links += 1
      const name = links.toString(16).padStart(16, '0')
      return {
        name,
        open() {
          if (open.has(name)) return
          open.set(name, receiver)
          setImmediate(() => open.has(name) && receiver.connected())
        },
        async send(batch) {
          if (!open.has(name)) return false
          setImmediate(() => {
            for (const { to, text } of batch)
              for (const [other, { message }] of open)
                if (other !== name && (to === null || to === other)) message(name, text)
          })
          return true
        },
        async close() {
          open.delete(name)
        },
      }
    },
  }
}
