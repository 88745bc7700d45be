import { createParser } from 'eventsource-parser'
import { pause } from '../base/abort.ts'
import { type DelayBounds, delayAfter, jittered } from '../base/clock.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { checkSignal, readOptions, shown } from '../base/errors/read-options.ts'
import { RemoteError, ServerUnreachableError } from '../base/errors/server-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { GrowingView, type WatchEvent } from '../view/growing-view.ts'
import { isTextDelta } from '../view/live-events.ts'
import type { View } from '../view/view.ts'
import { type ClientOptions, request } from './request.ts'

/** Where a stream begins and ends. */
export type WatchOptions = {
  /** Continue after this seq or event id. Without it, the stream begins with a snapshot. */
  readonly after?: number | string
  readonly signal?: AbortSignal
  /** Delay before reconnecting. Default: 100 ms, doubling up to 5 s. */
  readonly backoff?: Partial<DelayBounds>
  /** A connection that is silent for longer is dropped. Heartbeats come more often. Default: 45,000. */
  readonly silentMs?: number
  /** Called each time the server has accepted the connection, before its first event. */
  readonly onConnect?: () => void
  /** Called with the reason each time a connection is lost, and with the delay before the next attempt. */
  readonly onDisconnect?: (error: unknown, retryInMs: number) => void
}

/** An event, and the id to continue after. */
export type Watched<Event = WatchEvent> = { readonly id: string | null; readonly event: Event }

/** Event ids are short. A longer one would overflow the request headers, which looks like a broken connection. */
export const maxIdCharacters = 255

/**
 * A snapshot and the events after it. Reconnects as needed. Ends with the signal; throws when the server refuses for
 * good.
 */
export async function* watch<Event = WatchEvent>(
  options: ClientOptions,
  path: string,
  given?: WatchOptions,
): AsyncGenerator<Watched<Event>, void, void> {
  for await (const { watched } of watchWithMore<Event>(options, path, given)) yield watched
}

/** `hasMore`: the next event has already arrived. */
export type WithMore<Event = WatchEvent> = { readonly watched: Watched<Event>; readonly hasMore: boolean }

/** Like `watch`, for readers that handle events together that arrived together. `query` is read for each connection. */
export async function* watchWithMore<Event = WatchEvent>(
  options: ClientOptions,
  path: string,
  given?: WatchOptions,
  query: () => object = () => ({}),
): AsyncGenerator<WithMore<Event>, void, void> {
  const watching = readWatchOptions(given)
  const { signal, onDisconnect = () => {} } = watching
  let lastId = watching.after === undefined ? null : String(watching.after)
  let failures = 0
  const reconnectLater = async (error: unknown): Promise<void> => {
    failures += 1
    const retryInMs = backoffMs(error, failures, watching.backoff)
    onDisconnect(error, retryInMs)
    await pause(retryInMs, { signal })
  }
  while (!signal?.aborted) {
    try {
      for await (const together of connection(options, path, lastId, { ...watching, query: query() })) {
        failures = 0
        for (const [index, { id, data }] of together.entries()) {
          lastId = id ?? lastId
          const watched = { id: lastId, event: JSON.parse(data) as Event }
          yield { watched, hasMore: index < together.length - 1 }
        }
      }
      await reconnectLater(new ServerUnreachableError('it ended the stream'))
    } catch (error) {
      if (signal?.aborted) return
      if (PerdureError.isInstance(error) && !error.retryable) throw error
      await reconnectLater(error)
    }
  }
}

/** Checked before the first connection: later, a bad option looks like a broken connection and is retried. */
function readWatchOptions(given: WatchOptions | undefined): WatchOptions {
  const options = readOptions('options', given, ['after', 'signal', 'backoff', 'silentMs', 'onConnect', 'onDisconnect'])
  const { after, signal, silentMs, onConnect, onDisconnect } = options
  const isPlace = typeof after === 'number' || (typeof after === 'string' && after.length <= maxIdCharacters)
  if (after !== undefined && !isPlace)
    throw new InvalidArgumentError('after', `must be a seq or the id of an event, not ${shown(after)}`)
  if (signal !== undefined) checkSignal('signal', signal)
  for (const [name, callback] of Object.entries({ onConnect, onDisconnect }))
    if (callback !== undefined && typeof callback !== 'function')
      throw new InvalidArgumentError(name, 'must be a function')
  const backoff = readOptions('backoff', options.backoff, ['firstMs', 'mostMs'])
  for (const [name, ms] of Object.entries({ silentMs, ...backoff })) {
    if (ms !== undefined && !(typeof ms === 'number' && Number.isFinite(ms) && ms >= 0))
      throw new InvalidArgumentError(name, `must be a time in milliseconds, not ${shown(ms)}`)
  }
  return { ...options, backoff }
}

/** The view after each change. Events that arrive together are shown together, except text. */
export async function* views(watching: AsyncIterable<WithMore>): AsyncGenerator<View, void, void> {
  let shown: GrowingView | null = null
  let told: View | null = null
  for await (const { watched, hasMore } of watching) {
    const { event } = watched
    const failure = shown && takeInto(shown, event)
    if (!shown && event.type === 'snapshot') shown = new GrowingView(event.view)
    if (!shown || (hasMore && !failure && !isTextDelta(event))) continue
    if (shown.view !== told) yield shown.view
    told = shown.view
    if (failure) throw failure.error
  }
}

/** The events before one that cannot be read are still shown. */
function takeInto(shown: GrowingView, event: WatchEvent): { readonly error: unknown } | null {
  try {
    shown.take(event)
    return null
  } catch (error) {
    return { error }
  }
}

async function* connection(
  options: ClientOptions,
  path: string,
  lastId: string | null,
  { signal, silentMs = 45_000, onConnect = () => {}, query }: WatchOptions & { readonly query: object },
) {
  const silent = new AbortController()
  const connected = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal
  const giveUp = () => silent.abort(new ServerUnreachableError(`it was silent for ${silentMs} ms`))
  let timer = setTimeout(giveUp, silentMs)
  const onBytes = (): void => {
    clearTimeout(timer)
    timer = setTimeout(giveUp, silentMs)
  }
  try {
    const headers = { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) }
    const { body } = await request(options, path, { headers, query, signal: connected })
    if (!body) throw new ServerUnreachableError('its response is empty')
    onConnect()
    // A `fetch` that calls a handler in this process does not end the body with the signal.
    yield* readEvents(body.pipeThrough(new TransformStream(), { signal: connected }), onBytes)
  } catch (error) {
    if (PerdureError.isInstance(error)) throw error
    throw new ServerUnreachableError('the connection broke off', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** At least as long as the server asked for. */
function backoffMs(error: unknown, failures: number, backoff: Partial<DelayBounds> = {}): number {
  const { firstMs = 100, mostMs = 5_000 } = backoff
  const asked = error instanceof RemoteError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(asked, jittered(delayAfter(failures, { firstMs, mostMs })))
}

/** One event of a stream. `id` is the last one received, even if it came with an earlier event. */
export type ServerSentEvent = { readonly id: string | null; readonly data: string }

/**
 * A longer event ends the connection: it might never end. Snapshots have at most 4 MiB unless the server raises its
 * limit.
 */
const maxEventCharacters = 64 * 1024 * 1024

/**
 * Reads server-sent events, and yields those together that arrive together. Only an event that ends with an empty line
 * counts. `onBytes` is called for every chunk.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
  maxCharacters = maxEventCharacters,
): AsyncGenerator<readonly ServerSentEvent[], void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let id: string | null = null
  let events: ServerSentEvent[] = []
  const parser = createParser({
    maxBufferSize: maxCharacters,
    onEvent: (event) => {
      id = event.id ?? id
      events.push({ id, data: event.data })
    },
    // Unknown fields are ignored.
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded')
        throw new ServerUnreachableError(`it sent an event of more than ${maxCharacters} characters`)
    },
  })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      events = []
      parser.feed(decoder.decode(value, { stream: true }))
      if (events.length > 0) yield events
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
