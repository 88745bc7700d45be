import { onAbort, unlessAborted } from '../../base/abort.ts'
import { RuntimeClosedError } from '../../base/errors/runtime-errors.ts'
import { RateLimitedError } from '../../base/errors/server-errors.ts'
import { encode } from '../../log/codec.ts'
import type { LogEvent } from '../../log/events.ts'
import type { FlowSession } from '../../runtime/flow-session.ts'
import type { RouteCall } from '../route.ts'
import { heartbeat } from './frame.ts'
import { eventStream, Subscription } from './subscription.ts'

/** The events of a session after `after`, for one client. They are read as the client takes them, a page of the log at a time. */
export function sessionStream({ server, request }: RouteCall, session: FlowSession<unknown>, after: number): Response {
  const { feeds, settings } = server
  const { streams, streamBytes, heartbeatMs } = settings.limits
  if (feeds.subscribers >= streams) throw new RateLimitedError(1_000)
  const stop = new AbortController()
  const frames = framesOf(session.watch({ after, signal: stop.signal }), heartbeatMs, stop.signal)
  const subscription = new Subscription(streamBytes, frames, () => {
    stop.abort()
    feeds.streamClosed(subscription)
  })
  if (!feeds.streamOpened(subscription)) throw new RuntimeClosedError()
  subscription.end()
  onAbort(request.signal, () => subscription.close())
  return eventStream(subscription)
}

const encoder = new TextEncoder()

/** A frame for each event, and a heartbeat whenever there was none for a while. */
async function* framesOf(
  events: AsyncGenerator<LogEvent, void, void>,
  heartbeatMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  for (let next = events.next(); ; ) {
    const found = await within(next, heartbeatMs, signal)
    if (signal.aborted) return
    if (found === null) {
      yield heartbeat
      continue
    }
    if (found.done) return
    const { seq } = found.value
    yield encoder.encode(`id: ${seq}\ndata: ${encode(found.value)}\n\n`)
    next = events.next()
  }
}

/** Null when it takes longer. Rejects when the signal aborts. */
async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  try {
    return await unlessAborted(Promise.race([work, late]), signal)
  } finally {
    clearTimeout(timer)
  }
}
