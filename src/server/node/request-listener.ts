import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Handler } from '../create-handler.ts'
import { problemOf } from '../problem.ts'
import { requestOf } from './request-of.ts'
import { sendResponse } from './send-response.ts'

const uploadGraceMs = 1_000

export type ListenerOptions = {
  /** How long a client may take nothing of its answer. */
  readonly stallMs: number
  /** Then a connection goes with its answer: a client that came back on it would only be sent away. */
  readonly isClosing: () => boolean
}

/** Lets a handler answer what a server of Node receives. */
export function requestListener(
  handler: Handler,
  { stallMs, isClosing }: ListenerOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    const isLast = /\bclose\b/i.test(incoming.headers.connection ?? '')
    outgoing.once('finish', () => {
      if (!incoming.complete) endUpload(incoming)
      else if (isLast || isClosing()) incoming.socket.destroySoon()
    })
    void answer(handler, incoming, outgoing, stallMs)
  }
}

async function answer(
  handler: Handler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  stallMs: number,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  // A connection that breaks is seen as `close`.
  incoming.on('error', () => {})
  outgoing.on('error', () => {})
  const response = await responseTo(handler, incoming, gone.signal)
  // Node would close the connection with the answer, where that was asked for: see `endUpload`.
  if (!incoming.complete) outgoing.setHeader('connection', 'keep-alive')
  await sendResponse(response, outgoing, stallMs)
}

async function responseTo(handler: Handler, incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
  let request: Request
  try {
    request = requestOf(incoming, signal)
  } catch (error) {
    return problemOf(error)
  }
  return handler(request)
}

/**
 * It was answered before all of it came. The rest is read and dropped for a moment, and then cut off: a connection that is closed on what was not read is reset, and the
 * answer is lost with it.
 */
function endUpload(incoming: IncomingMessage): void {
  incoming.removeAllListeners('data').resume()
  setTimeout(() => {
    if (!incoming.complete) incoming.socket.destroy()
  }, uploadGraceMs).unref()
}
