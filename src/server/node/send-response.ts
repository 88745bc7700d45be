import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { letOthers } from '../../store/page-through.ts'

/**
 * Writes a response out, no faster than the client reads, and cuts it off when the client has taken nothing for `stallMs`. Resolves when that is over,
 * however it ended.
 */
export async function sendResponse(response: Response, outgoing: ServerResponse, stallMs: number): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  const reader = response.body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  outgoing.once('close', stop)
  // The source gives up on a client that does not read: its connection goes, also in the middle of a write.
  reader.closed.catch(() => outgoing.destroy())
  outgoing.flushHeaders()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drained(outgoing, stallMs)
      // A client that takes everything at once would have the process to itself until the end.
      await letOthers()
    }
    outgoing.end()
  } catch {
    // What was sent so far cannot be taken back; the client sees a connection that broke off.
    outgoing.destroy()
  } finally {
    outgoing.off('close', stop)
  }
}

/** Or closed: then nobody will ever read. */
async function drained(outgoing: ServerResponse, stallMs: number): Promise<void> {
  const { socket } = outgoing
  if (outgoing.destroyed || !socket) return
  const settled = new AbortController()
  const { signal } = settled
  const cutOff = (): void => void outgoing.destroy()
  // The socket itself sees each byte that goes, where a write is over only with its last one.
  socket.setTimeout(stallMs, cutOff)
  try {
    await Promise.race([once(outgoing, 'drain', { signal }), once(outgoing, 'close', { signal })])
  } finally {
    settled.abort()
    socket.setTimeout(0, cutOff)
  }
}
