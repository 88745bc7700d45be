import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { type ChatRequest, type ChatSending, ChatTurns, type ChatTurnsOptions } from './chat-turns.ts'
import type { ClientOptions } from './request.ts'
import type { ChatMessage } from './shown-message.ts'

/** How a page of the AI SDK reaches an agent. */
export type TransportOptions = Pick<ClientOptions, 'token' | 'headers' | 'fetch'> & {
  /** The agent's address on the server, such as 'https://app.example.com/api/agents/ui/support'. In a browser it may be a path. */
  readonly url: string
  /** JSON that comes with every message: `turn.data` of hooks and tools. `body` of a request is added to it. */
  readonly body?: object | (() => object)
  /** What to do with a message while another turn is open. Default: `reject`. */
  readonly whenBusy?: 'reject' | 'queue' | 'interrupt' | 'steer'
  /**
   * Whether `stop()` cancels the turn. False: it only stops reading. `useChat` also calls it when its component unmounts, unless you pass the `Chat` as
   * `chat`. Default: true.
   */
  readonly cancelOnStop?: boolean
  /** The chunks that the page understands: 'v6' for version 6 of the AI SDK. Default: 'v7'. */
  readonly chunks?: 'v6' | 'v7'
  /** How long to look for a server that does not answer. Default: 120,000. */
  readonly giveUpMs?: number
  /** A connection that is silent for longer is lost. Heartbeats come more often. Default: 45,000. */
  readonly silentMs?: number
  /** Called with the reason each time a connection is lost or cannot be made. */
  readonly onDisconnect?: (error: unknown) => void
}

/** A transport for `useChat`. Its types fit versions 6 and 7 of the AI SDK, and need neither to be installed. */
export type PerdureTransport = {
  /** Tells the AI SDK that a resumed stream begins with the start of the message. */
  readonly resumeStreamIsReplay: true
  /** Resolves with a stream of `UIMessageChunk`. The chunks are typed `never`, which fits those of every version. */
  sendMessages(options: ChatSending): Promise<ReadableStream<never>>
  /** Null when no turn is open, also for a chat without messages. */
  reconnectToStream(options: ChatRequest): Promise<ReadableStream<never> | null>
  /** For the option of the same name: sends each answer to a call when it is given. */
  readonly sendAutomaticallyWhen: (options: { readonly messages: readonly ChatMessage[] }) => boolean
  /** The newest messages of a chat, oldest first; none for a new chat. */
  messages<Message extends ChatMessage = ChatMessage>(chatId: string): Promise<Message[]>
  /** Cancels the open turn, also one that waits for an answer. */
  cancel(chatId: string): Promise<void>
}

/**
 * Connects `useChat` of the AI SDK to an agent. A lost connection is opened again, and the message continues where it was. Throws `InvalidArgumentError` for
 * wrong options.
 */
export function perdureTransport(options: TransportOptions): PerdureTransport {
  const turns = new ChatTurns(readTransportOptions(options))
  return {
    resumeStreamIsReplay: true,
    sendMessages: (sending) => turns.send(sending) as Promise<ReadableStream<never>>,
    reconnectToStream: (resuming) => turns.resume(resuming) as Promise<ReadableStream<never> | null>,
    sendAutomaticallyWhen: ({ messages }) => turns.hasUnsentAnswer(messages.at(-1)),
    messages: <Message extends ChatMessage>(chatId: string) => turns.messages(chatId) as Promise<Message[]>,
    cancel: (chatId) => turns.cancel(chatId),
  }
}

const optionNames = Object.keys({
  url: true,
  token: true,
  headers: true,
  fetch: true,
  body: true,
  whenBusy: true,
  cancelOnStop: true,
  chunks: true,
  giveUpMs: true,
  silentMs: true,
  onDisconnect: true,
} satisfies Record<keyof TransportOptions, true>) as (keyof TransportOptions)[]

function readTransportOptions(given: TransportOptions): ChatTurnsOptions {
  const options = readOptions<TransportOptions, keyof TransportOptions>('options', given ?? null, optionNames)
  const { url, token, headers, fetch, whenBusy, chunks = 'v7', cancelOnStop = true, body = {} } = options
  const { giveUpMs = 120_000, silentMs = 45_000, onDisconnect = () => {} } = options
  const address = typeof url === 'string' ? /^(.*)\/ui\/([^/?#]+)\/*$/.exec(url) : null
  if (!address) throw new InvalidArgumentError('url', "must end with '/ui/' and the name of an agent")
  const problems: readonly [string, boolean, string][] = [
    [
      'whenBusy',
      [undefined, 'reject', 'queue', 'interrupt', 'steer'].includes(whenBusy),
      'reject, queue, interrupt or steer',
    ],
    ['chunks', chunks === 'v6' || chunks === 'v7', "'v6' or 'v7'"],
    ['giveUpMs', Number.isFinite(giveUpMs) && giveUpMs >= 0, 'a time in milliseconds'],
    ['silentMs', Number.isFinite(silentMs) && silentMs > 0, 'a time in milliseconds'],
    ['fetch', fetch === undefined || typeof fetch === 'function', 'a function'],
    ['headers', headers === undefined || (typeof headers === 'object' && headers !== null), 'an object'],
  ]
  for (const [name, isRight, what] of problems) if (!isRight) throw new InvalidArgumentError(name, `must be ${what}`)
  const [, server = '', agent = ''] = address
  const client = {
    url: absolute(server),
    ...(token === undefined ? {} : { token }),
    ...(headers === undefined ? {} : { headers }),
    ...(fetch === undefined ? {} : { fetch }),
  }
  const patience = { giveUpMs, silentMs, onDisconnect }
  return { client, agent, body, chunks, cancelOnStop, patience, ...(whenBusy === undefined ? {} : { whenBusy }) }
}

/** In a browser, a path is relative to the page. */
function absolute(server: string): string {
  const { location } = globalThis as { location?: { readonly href: string } }
  return location && !URL.canParse(server) ? new URL(server || '/', location.href).href.replace(/\/$/, '') : server
}
