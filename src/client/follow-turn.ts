import { pause } from '../base/abort.ts'
import { delayAfter, jittered } from '../base/clock.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { RemoteError, ServerUnreachableError } from '../base/errors/server-errors.ts'
import { type Chunk, ShownMessage } from './shown-message.ts'
import { readEvents } from './watch.ts'

export type Patience = {
  /** How long a server that does not answer is looked for. */
  readonly giveUpMs: number
  /** A connection that is silent for longer is lost. */
  readonly silentMs: number
  readonly onDisconnect: (error: unknown) => void
}

export type FollowOptions = Patience & {
  /** Makes the first connection. Called again until the server answers, so it must be safe to repeat. */
  readonly open: (signal: AbortSignal) => Promise<Response>
  /** Connects to a turn that is known by its id, from its beginning. */
  readonly reopen: (turnId: string, signal: AbortSignal) => Promise<Response>
  /** Called when the server has taken the request. */
  readonly onAnswer?: () => void
  /** Called with the id of the turn when it is known. */
  readonly onTurn: (turnId: string) => void
  /** The message as the page shows it before the stream. */
  readonly shown: ShownMessage
  /** Whether the page can take back the newest step. */
  readonly canReset: boolean
  readonly signal: AbortSignal
}

/**
 * The chunks of one turn, over as many connections as it takes. Ends when the turn has ended or waits for a person.
 * Throws when the server refuses, or cannot be found for `giveUpMs`.
 */
export async function* followTurn(options: FollowOptions): AsyncGenerator<Chunk, void, void> {
  const { shown, signal, onDisconnect, canReset } = options
  let turnId: string | null = null
  for (let losses = 0; ; losses++) {
    if (losses > 0) await pause(delayOf(losses, null), { signal })
    const known: string | null = turnId
    const open = known === null ? options.open : (of: AbortSignal) => options.reopen(known, of)
    const connection = await untilAnswered(() => connect(open, options), options)
    options.onAnswer?.()
    try {
      const chunks: Connection = known === null ? join(connection, shown) : rejoin(connection, shown, canReset)
      for await (const chunk of chunks) {
        losses = 0
        if (chunk.type === 'start' && typeof chunk['messageId'] === 'string') turnId = chunk['messageId']
        if (turnId !== null) options.onTurn(turnId)
        yield chunk
      }
      return
    } catch (error) {
      if (signal.aborted || !isLoss(error)) throw error
      onDisconnect(error)
    }
  }
}

/** Tries again while no server answers, with growing pauses. */
export async function untilAnswered<T>(
  attempt: () => Promise<T>,
  { giveUpMs, onDisconnect, signal }: Pick<FollowOptions, 'giveUpMs' | 'onDisconnect' | 'signal'>,
): Promise<T> {
  const begun = performance.now()
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (error) {
      if (signal.aborted || !isLoss(error) || performance.now() - begun > giveUpMs) throw error
      onDisconnect(error)
      await pause(delayOf(failures, error), { signal })
      signal.throwIfAborted()
    }
  }
}

function isLoss(error: unknown): boolean {
  return PerdureError.isInstance(error) && error.retryable
}

/** At least as long as the server asked for. */
function delayOf(failures: number, error: unknown): number {
  const asked = error instanceof RemoteError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(asked, jittered(delayAfter(failures, { firstMs: 100, mostMs: 3_000 })))
}

type Connection = AsyncGenerator<Chunk, void, void>

/** Resolves when the server answers. The chunks end with the turn; a stream that ends before throws. */
async function connect(
  open: (signal: AbortSignal) => Promise<Response>,
  { silentMs, signal }: Pick<FollowOptions, 'silentMs' | 'signal'>,
): Promise<Connection> {
  const silent = new AbortController()
  const connected = AbortSignal.any([signal, silent.signal])
  const giveUp = (): void => silent.abort(new ServerUnreachableError(`it was silent for ${silentMs} ms`))
  let timer = setTimeout(giveUp, silentMs)
  const onBytes = (): void => {
    clearTimeout(timer)
    timer = setTimeout(giveUp, silentMs)
  }
  try {
    const { body } = await open(connected)
    if (!body) throw new ServerUnreachableError('its response is empty')
    return chunksIn(body, { signal, connected, onBytes, onEnd: () => clearTimeout(timer) })
  } catch (error) {
    clearTimeout(timer)
    throw connected.aborted && !signal.aborted ? connected.reason : error
  }
}

type Reading = {
  readonly signal: AbortSignal
  readonly connected: AbortSignal
  readonly onBytes: () => void
  readonly onEnd: () => void
}

async function* chunksIn(
  body: ReadableStream<Uint8Array>,
  { signal, connected, onBytes, onEnd }: Reading,
): AsyncGenerator<Chunk, void, void> {
  let isDone = false
  try {
    for await (const events of readEvents(body.pipeThrough(new TransformStream(), { signal: connected }), onBytes)) {
      for (const { data } of events) {
        // The body is read to its end, which lets the connection be used again.
        isDone ||= data === '[DONE]'
        if (isDone) continue
        const chunk = JSON.parse(data) as Chunk
        if (chunk.type === 'resume') throw new ServerUnreachableError('it asked to resume')
        yield chunk
      }
    }
    if (!isDone) throw new ServerUnreachableError('it ended the stream')
  } catch (error) {
    if (isDone) return
    if (signal.aborted || PerdureError.isInstance(error)) throw error
    throw new ServerUnreachableError('the connection broke off', { cause: error })
  } finally {
    onEnd()
  }
}

/** A stream that continues after the shown text. */
async function* join(chunks: Connection, shown: ShownMessage): Connection {
  for await (const chunk of chunks) if (chunk.type !== 'caught-up' && shown.take(chunk)) yield chunk
}

/** A stream that starts again at the beginning of the message. Repeated text is skipped. */
async function* rejoin(chunks: Connection, shown: ShownMessage, canReset: boolean): Connection {
  const truth = new ShownMessage()
  const others: Chunk[] = []
  let isCaughtUp = false
  const catchUp = (): Chunk[] => {
    isCaughtUp = true
    const missing = shown.becomes(truth, canReset)
    return missing ? [...missing, ...others] : [withdrawn]
  }
  for await (const chunk of chunks) {
    if (isCaughtUp) {
      if (shown.take(chunk)) yield chunk
    } else if (chunk.type === 'caught-up') yield* catchUp()
    else if (chunk.type === 'start') yield { type: 'message-metadata', messageMetadata: chunk['messageMetadata'] }
    else if (isEnd(chunk)) others.push(chunk)
    else truth.take(chunk)
  }
  if (!isCaughtUp) yield* catchUp()
}

/** Chunks that do not belong to the message. */
function isEnd({ type, transient }: Chunk): boolean {
  return transient === true || ['finish', 'message-metadata', 'abort', 'error'].includes(type)
}

const withdrawn: Chunk = {
  type: 'error',
  errorText: 'A part of this message was withdrawn. Resume the stream to see the current message.',
}
