import type { Transport } from '@modelcontextprotocol/client'

/** What a server may say that was not asked for: at once, and then each second. */
const mostAtOnce = 10_000
const mostEachSecond = 1_000
/** A message that cannot be read takes longer to refuse than one that can be passed over. */
const weightOfInvalid = 10
/** Of what is being sent. A server that asks and reads no answers would fill the memory with them. */
const mostBeingSent = 100

export type MessageBound = {
  /** Why the server was disconnected; null while it is connected. */
  readonly excess: string | null
  /** A message could not be read. */
  invalid(): void
}

/** Counts what comes over a transport that is not yet connected. Beyond a bound, messages are ignored, and `onExcess` is called once. */
export function boundMessages(transport: Transport, onExcess: () => void): MessageBound {
  let [left, countedAt, beingSent, expected] = [mostAtOnce, Date.now(), 0, 0]
  let excess: Error | null = null

  const end = (problem: string): void => {
    if (excess) return
    excess = new Error(problem)
    onExcess()
  }
  const take = (weight: number): void => {
    const now = Date.now()
    left = Math.min(mostAtOnce, left + ((now - countedAt) * mostEachSecond) / 1_000) - weight
    countedAt = now
    if (left < 0) end('it sends more messages than it may')
  }

  const send = transport.send.bind(transport)
  transport.send = async (message, options) => {
    if (beingSent >= mostBeingSent && !('id' in message && 'method' in message))
      end('it does not read what it asks for')
    if (excess) throw excess
    if ('id' in message && 'method' in message) expected += 1
    beingSent += 1
    try {
      await send(message, options)
    } finally {
      beingSent -= 1
    }
  }
  // The client calls this first; what it throws keeps a message from being handled.
  transport.onmessage = (message) => {
    if (!('method' in message) && expected > 0) expected -= 1
    else take(1)
    if (excess) throw excess
  }
  return {
    get excess() {
      return excess?.message ?? null
    },
    invalid: () => take(weightOfInvalid),
  }
}
