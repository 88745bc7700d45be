import { onAbort } from '../base/abort.ts'
import { RemoteError } from '../base/errors/server-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { type FollowOptions, followTurn, type Patience, untilAnswered } from './follow-turn.ts'
import { type Ask, type ClientOptions, pathPart, request, requestJson } from './request.ts'
import { type ChatMessage, type Chunk, ShownMessage } from './shown-message.ts'

export type ChatTurnsOptions = {
  readonly client: ClientOptions
  readonly agent: string
  readonly body: object | (() => object)
  readonly whenBusy?: string
  readonly cancelOnStop: boolean
  readonly chunks: 'v6' | 'v7'
  readonly patience: Patience
}

/** What the AI SDK passes to a transport with every request. */
export type ChatRequest = {
  readonly chatId: string
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Record<string, string> | Headers | undefined
  readonly body?: object | undefined
  readonly metadata?: unknown
}

/** What it passes to send a message, or the answers to calls. */
export type ChatSending = ChatRequest & {
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId: string | undefined
  readonly messages: readonly ChatMessage[]
}

/** A stop comes with an unmount too, and a page that is mounted again resumes at once. */
const stopGraceMs = 50

/** The turns of the chats of one page, over the routes of the server for the AI SDK. */
export class ChatTurns {
  readonly #options: ChatTurnsOptions
  readonly #answers = new AnswersGiven()
  /** Turns that are being cancelled, by chat. */
  readonly #stops = new Map<string, Stop>()

  constructor(options: ChatTurnsOptions) {
    this.#options = options
  }

  async send({
    chatId,
    abortSignal,
    headers,
    messages,
    trigger,
    messageId,
    ...request
  }: ChatSending): Promise<ReadableStream<Chunk>> {
    const path = this.#path(chatId)
    const last = messages.at(-1)
    if (!last) throw new InvalidArgumentError('messages', 'must not be empty')
    const stop = this.#stops.get(chatId)
    await stop?.now()
    const isAnswer = last.role === 'assistant'
    const body = {
      id: chatId,
      messages: [last],
      trigger,
      messageId,
      ...(isAnswer ? answering(last) : this.#data(request)),
    }
    const ask = { method: 'POST', body: () => body, headers: plainHeaders(headers) } as const
    return this.#stream(chatId, path, abortSignal, {
      open: (signal) => this.#open('', { ...ask, signal }).catch(afterStop(stop)),
      shown: isAnswer ? ShownMessage.of(last) : new ShownMessage(),
      onAnswer: () => this.#answers.sent(last),
    })
  }

  async resume({ chatId, abortSignal, headers }: ChatRequest): Promise<ReadableStream<Chunk> | null> {
    const path = this.#path(chatId)
    this.#stops.get(chatId)?.callOff()
    const ask = { headers: plainHeaders(headers), ...(abortSignal ? { signal: abortSignal } : {}) }
    const signal = abortSignal ?? new AbortController().signal
    const open = () => this.#open(`${path}/stream`, ask)
    let first: Response | null = await untilAnswered(open, { ...this.#options.patience, signal })
    if (first.status === 204) return null
    return this.#stream(chatId, path, abortSignal, {
      open: async () => {
        const response = first ?? (await open())
        first = null
        return response
      },
      shown: new ShownMessage(),
    })
  }

  hasUnsentAnswer(last: ChatMessage | undefined): boolean {
    return this.#answers.hasUnsent(last)
  }

  async messages(chatId: string): Promise<ChatMessage[]> {
    const { client, patience } = this.#options
    const path = `${this.#place()}${this.#path(chatId)}/messages`
    const signal = new AbortController().signal
    try {
      const read = () => requestJson<{ messages: ChatMessage[] }>(client, path)
      const { messages } = await untilAnswered(read, { ...patience, signal })
      for (const message of messages) this.#answers.received(message)
      return messages.map((message) => ({ ...message, parts: message.parts.map((part) => this.#located(part)) }))
    } catch (error) {
      if (error instanceof RemoteError && error.code === 'conversation_not_found') return []
      throw error
    }
  }

  async cancel(chatId: string): Promise<void> {
    await this.#cancel(chatId, null)
  }

  /** Resolves with whether the turn has still to end. */
  async #cancel(chatId: string, turnId: string | null): Promise<boolean> {
    const { client, patience } = this.#options
    const path = `${this.#place()}${this.#path(chatId)}/cancel`
    const body = () => (turnId === null ? {} : { turnId })
    const signal = new AbortController().signal
    const post = () => requestJson<{ outcome: { status: string } | null }>(client, path, { method: 'POST', body })
    const { outcome } = await untilAnswered(post, { ...patience, signal })
    return outcome?.status === 'terminating'
  }

  #stream(
    chatId: string,
    path: string,
    abortSignal: AbortSignal | undefined,
    { open, shown, onAnswer = () => {} }: Pick<FollowOptions, 'open' | 'shown' | 'onAnswer'>,
  ): ReadableStream<Chunk> {
    const { patience, chunks, cancelOnStop } = this.#options
    const reading = new AbortController()
    const known = Promise.withResolvers<string>()
    const following = followTurn({
      ...patience,
      open,
      shown,
      onAnswer,
      onTurn: known.resolve,
      signal: reading.signal,
      canReset: chunks !== 'v6',
      reopen: (turnId, signal) => this.#open(`${path}/stream`, { signal, query: { turn: turnId } }),
    })
    const end = (): void => reading.abort(new DOMException('The stream was stopped.', 'AbortError'))
    const stopListening = onAbort(abortSignal, () => {
      if (!cancelOnStop) return end()
      // A turn that has ended or waits has nothing to cancel. Otherwise it is cancelled by its id, so that a stop never ends the turn of another page; reading continues until the id is known.
      let isOver = false
      const over = drained(following).then(() => {
        isOver = true
        return null
      })
      const stop = new Stop(async () => {
        const turnId = await Promise.race([known.promise, over])
        const isRunning = turnId !== null && !isOver
        end()
        return isRunning ? this.#cancel(chatId, turnId) : false
      }, end)
      this.#stops.set(chatId, stop)
      stop.after(stopGraceMs)
    })
    let isCancelled = false
    return new ReadableStream<Chunk>({
      pull: async (controller) => {
        const { done, value } = await following.next()
        if (done) stopListening()
        if (isCancelled) return
        if (done) return controller.close()
        this.#answers.told(value)
        controller.enqueue(this.#located(value))
      },
      cancel: () => {
        isCancelled = true
        if (!abortSignal?.aborted) end()
      },
    })
  }

  #open(path: string, ask: Ask): Promise<Response> {
    const query = { ...ask.query, chunks: this.#options.chunks, loss: 'resume' }
    return request(this.#options.client, this.#place() + path, { ...ask, query })
  }

  #place(): string {
    return `/ui/${this.#options.agent}`
  }

  #path(chatId: string): string {
    return `/${pathPart('chat id', chatId)}`
  }

  /** What the request brings: `whenBusy` and `force` for the server, everything else for `turn.data`. */
  #data({ body, metadata }: Pick<ChatRequest, 'body' | 'metadata'>): object {
    const { body: always, whenBusy: usual } = this.#options
    const { whenBusy = usual, force, ...own } = (body ?? {}) as { whenBusy?: string; force?: boolean }
    const data = {
      ...(typeof always === 'function' ? always() : always),
      ...own,
      ...(metadata === undefined ? {} : { requestMetadata: metadata }),
    }
    return { whenBusy, force, ...(Object.keys(data).length > 0 ? { data } : {}) }
  }

  /** A page of another origin cannot use a path of the server. */
  #located<Part extends { readonly type: string }>(part: Part): Part {
    const { url } = part as { readonly url?: unknown }
    const path = part.type === 'file' && typeof url === 'string' ? ownFile.exec(url) : null
    return path ? { ...part, url: this.#options.client.url + path[1] } : part
  }
}

const ownFile = /^(?:\/.*)?(\/conversations\/[^/]+\/files\/[0-9a-f]{64}(?:\?.*)?)$/

/** The stop of a page, which is revoked if the page returns at once. */
class Stop {
  readonly #cancel: () => Promise<boolean>
  readonly #onCallOff: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #done: Promise<void> | null = null
  #isCalledOff = false
  /** The server has not finished cancelling. */
  isTerminating = false

  constructor(cancel: () => Promise<boolean>, onCallOff: () => void) {
    this.#cancel = cancel
    this.#onCallOff = onCallOff
  }

  after(ms: number): void {
    this.#timer = setTimeout(() => void this.now(), ms)
  }

  callOff(): void {
    if (this.#done !== null) return
    this.#isCalledOff = true
    this.#onCallOff()
    clearTimeout(this.#timer)
  }

  /** Never rejects: where no server is found, the next request says so. */
  async now(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#isCalledOff) return
    this.#done ??= this.#cancel().then(
      (isTerminating) => {
        this.isTerminating = isTerminating
      },
      () => {},
    )
    await this.#done
  }
}

/** A turn that is still being cancelled is waited for. */
function afterStop(stop: Stop | undefined): (error: unknown) => never {
  return (error) => {
    const isEnding = stop?.isTerminating && error instanceof RemoteError && error.code === 'conversation_busy'
    if (!isEnding) throw error
    throw new RemoteError({ code: error.code, detail: error.message, status: error.status, retryable: true })
  }
}

/** Each answer has a key, so a repeated request is not refused as too late. */
function answering(message: ChatMessage): object {
  const answerKey = Array.from({ length: 4 }, () => Math.random().toString(36).slice(2, 10)).join('')
  return { answerKey, ...(isAsking(message) ? { answersOnly: true } : {}) }
}

function plainHeaders(headers: ChatRequest['headers'] = {}): Record<string, string> {
  return headers instanceof Headers ? Object.fromEntries(headers) : headers
}

async function drained(chunks: AsyncGenerator<Chunk, void, void>): Promise<void> {
  try {
    while (!(await chunks.next()).done);
  } catch {
    // It was read for the id of its turn alone.
  }
}

type ToolPart = {
  readonly type: string
  readonly toolCallId: string
  readonly state: string
  readonly approval?: { readonly id: string; readonly approved?: boolean }
}

/**
 * The answers that a page has given to calls, and which of them the server has taken. A page shows outputs of the server
 * and its own in the same way, so both are remembered.
 */
class AnswersGiven {
  readonly #taken = new Set<string>()
  readonly #outputs = new Set<string>()

  /** The server sent it. */
  told({ type, toolCallId }: Chunk): void {
    if (type.startsWith('tool-output-') && typeof toolCallId === 'string') this.#outputs.add(toolCallId)
  }

  /** The server sent all of it. */
  received(message: ChatMessage): void {
    for (const { toolCallId, state } of message.parts.filter(isCall)) {
      if (state.startsWith('output-')) this.#outputs.add(toolCallId)
    }
  }

  /** The server has taken what the page says about its calls. */
  sent(message: ChatMessage): void {
    for (const answer of this.#answersIn(message)) this.#taken.add(answer)
  }

  /** Whether the newest message has an answer that the server does not know. */
  hasUnsent(message: ChatMessage | undefined): boolean {
    if (message?.role !== 'assistant') return false
    const { status = 'waiting' } = Object(message.metadata) as { readonly status?: unknown }
    return status === 'waiting' && this.#answersIn(message).some((answer) => !this.#taken.has(answer))
  }

  #answersIn(message: ChatMessage): string[] {
    return newestCalls(message).flatMap(({ toolCallId, state, approval }) => {
      if (state === 'approval-responded') return [`${approval?.id}/${approval?.approved}`]
      const isOwn = (state === 'output-available' || state === 'output-error') && !this.#outputs.has(toolCallId)
      return isOwn ? [`${toolCallId}/${state}`] : []
    })
  }
}

/** Whether the newest step still asks for an approval. */
function isAsking(message: ChatMessage): boolean {
  return newestCalls(message).some(({ state }) => state === 'approval-requested')
}

function newestCalls({ parts }: ChatMessage): ToolPart[] {
  const first = parts.findLastIndex(({ type }) => type === 'step-start')
  return parts.slice(first + 1).filter(isCall)
}

function isCall(part: { readonly type: string }): part is ToolPart {
  const { toolCallId, state } = part as Partial<ToolPart>
  return typeof toolCallId === 'string' && typeof state === 'string'
}
