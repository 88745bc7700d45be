import { StalledClientError } from '../room.ts'
import { greeting } from './frame.ts'
import type { Subscription } from './subscription.ts'

/** The answer that goes on for as long as the client stays and keeps up. */
export function eventStream(subscription: Subscription): Response {
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(greeting)
        // Whoever pipes this must let go of the connection, also while it waits for a client that does not read.
        subscription.onDrop = () => controller.error(new StalledClientError())
      },
      async pull(controller) {
        const chunk = await subscription.read()
        // Dropped or cancelled meanwhile: the controller knows already.
        if (subscription.isClosed) return
        if (chunk) controller.enqueue(chunk)
        else {
          subscription.close()
          controller.close()
        }
      },
      cancel: () => subscription.close(),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: eventStreamHeaders })
}

export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
