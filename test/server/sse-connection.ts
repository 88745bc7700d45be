import { readEvents, type ServerSentEvent } from '../../src/client/watch.ts'
import type { WatchEvent } from '../../src/view/growing-view.ts'

export type Received = { readonly id: string; readonly event: WatchEvent }

export type Connection = {
  /** The next event; null when the server has closed. */
  next(): Promise<Received | null>
  /** Reads until one is such. */
  until(isSuch: (event: WatchEvent) => boolean): Promise<Received[]>
  cut(): void
}

/** One connection to a live stream, as any client would have it: no reconnecting. */
export async function connect(url: string, lastId: string | null = null): Promise<Connection> {
  const controller = new AbortController()
  const headers: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId }
  const response = await fetch(url, { headers, signal: controller.signal })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  // Gets a reader at once: an unread body is cancelled when its response is garbage collected.
  const events = oneByOne(readEvents(response.body!.pipeThrough(new TransformStream())))
  const next = async (): Promise<Received | null> => {
    const { done, value } = (await events.next()) as IteratorResult<ServerSentEvent>
    return done ? null : { id: value.id!, event: JSON.parse(value.data) as WatchEvent }
  }
  return {
    next,
    async until(isSuch) {
      const seen: Received[] = []
      for (;;) {
        const received = await next()
        if (!received) throw new Error('the stream ended before')
        seen.push(received)
        if (isSuch(received.event)) return seen
      }
    },
    cut: () => controller.abort(),
  }
}

async function* oneByOne(
  together: AsyncIterable<readonly ServerSentEvent[]>,
): AsyncGenerator<ServerSentEvent, void, void> {
  for await (const events of together) yield* events
}
