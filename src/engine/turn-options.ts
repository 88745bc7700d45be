import { createHash } from 'node:crypto'
import { readArgument, shown } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import type { Agent } from '../define/agent.ts'
import { type Schema, turnSchema } from '../define/schema.ts'
import { mayHaveTool } from '../define/tool-source.ts'
import { type BlobRef, isBlobRef, isDataUrl, isWebUrl } from '../log/blob-ref.ts'
import { decode, encode } from '../log/codec.ts'
import type { TurnOptions, UserMessage, UserPart } from '../log/events.ts'
import { checkWhole } from '../store/checks.ts'

/** What to do when a turn is open: refuse, run after it, cancel it and run next in line, or hand the message to it. */
export type WhenBusy = 'reject' | 'queue' | 'interrupt' | 'steer'

/** How a message is taken. What a turn's first message says holds for the whole turn. */
export type SendOptions<Out extends Schema | false | undefined = Schema | false | undefined> = {
  /** The same key is the same turn, however often it is sent. */
  readonly key?: string
  /** Default: `reject`; `queue` while the conversation is quarantined. */
  readonly whenBusy?: WhenBusy
  /**
   * JSON of the request, such as where a page was when the message was written. Recorded with the message, in `turn.data` for hooks and tools, and in no prompt.
   * Everyone who may read the log may read it. At most 64 KiB. `turn.data` is that of the message that opened the turn.
   */
  readonly data?: unknown
  /**
   * The W3C trace context that the spans of the turn belong to, as the header `traceparent` has it. Recorded with the message; a message that is sent again with
   * its key may have another one. Default: that of the active span, where the runtime is observed by `perdure/telemetry`.
   */
  readonly traceparent?: string
  /**
   * The turn that this message replaces, with all turns after it: an edit. Their words are withdrawn from view and prompt; the prompt lists what their tools
   * did. Only while no turn is open or queued.
   */
  readonly replaces?: string
  /** With `replaces`: replace the turn even if it started a tool without `ifInterrupted: 'rerun'`. Default: false; such a message is refused. */
  readonly force?: boolean
  /** Overrides the agent's; false opts out. */
  readonly output?: Out
  readonly untilTool?: string
  /** The maximum number of model calls. It can only lower the agent's limit. */
  readonly maxSteps?: number
  /** The maximum number of tokens, including those of child agents. It can only lower the agent's limit. */
  readonly maxTokens?: number
}

/** More belongs into a file or a store of the application's own. */
const maxDataBytes = 64 * 1024

/** The data as recorded. Throws `InvalidArgumentError` if it is not JSON, or too long. */
export function readData(data: unknown): Json {
  const text = encode(data, 'data')
  const bytes = Buffer.byteLength(text)
  if (bytes > maxDataBytes) {
    const problem = `has ${bytes} bytes of JSON; the limit is ${maxDataBytes}. Send a file, or keep it elsewhere and send its id`
    throw new InvalidArgumentError('data', problem)
  }
  return decode(text)
}

/** How a turn is tried again. */
export type RetryOptions = {
  /** The same key is the same turn, however often it is sent. */
  readonly key?: string
  /** As in `SendOptions`. */
  readonly force?: boolean
  readonly traceparent?: string
}

/** All options of the turn, with the agent's defaults written in: a deploy does not change a turn under way. */
export function turnOptions(agent: Agent, options: SendOptions): TurnOptions {
  const output = options.output === undefined ? agent.outputJsonSchema : options.output && turnSchema(options.output)
  const untilTool = options.untilTool ?? agent.untilTool
  const maxTokens = lower(options.maxTokens, agent.maxTokens)
  if (options.untilTool !== undefined && !mayHaveTool(agent, options.untilTool)) {
    throw new InvalidArgumentError(
      'untilTool',
      `is '${shown(options.untilTool)}'; the agent has ${[...agent.toolSet.keys()].join(', ')}`,
    )
  }
  for (const name of ['maxSteps', 'maxTokens'] as const) {
    if (options[name] !== undefined) checkWhole(name, options[name], 1)
  }
  return {
    maxSteps: lower(options.maxSteps, agent.maxSteps),
    maxParallelCalls: agent.maxParallelCalls,
    ...(agent.tools.some((tool) => tool.executor === 'agent') ? { maxDepth: agent.maxDepth } : {}),
    ...(Number.isFinite(maxTokens) ? { maxTokens } : {}),
    ...(untilTool === null ? {} : { untilTool }),
    ...(output ? { output } : {}),
  }
}

/** The lower limit applies: a caller who asks for more than the agent allows gets what the agent allows. Infinity if neither is set. */
function lower(asked: number | undefined, allowed: number | null): number {
  return Math.min(asked ?? Number.POSITIVE_INFINITY, allowed ?? Number.POSITIVE_INFINITY)
}

/** What a person says: text, or parts. A file's bytes go into a blob, also those of a `data:` URL; any other string is its URL, with http or https. */
export type MessageInput = string | readonly InputPart[] | { readonly parts: readonly InputPart[] }

/** A part of what a person says. */
export type InputPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      readonly mediaType: string
      readonly data: Uint8Array | URL | BlobRef | string
      readonly filename?: string
    }

/** A message as it is recorded, and the files it refers to, each once. Nothing of them is stored yet. */
type ReadMessage = { readonly message: UserMessage; readonly files: readonly NewFile[] }

type NewFile = { readonly bytes: Uint8Array; readonly mediaType: string }

/** More are a mistake, and each costs a look. */
const mostParts = 10_000

/** Throws `InvalidArgumentError` if the value is not a message or cannot be read. */
export function readMessage(input: MessageInput): ReadMessage {
  return readArgument('message', () => readParts(partsOf(input)))
}

function readParts(parts: readonly InputPart[]): ReadMessage {
  if (parts.length > mostParts) {
    throw new InvalidArgumentError('message', `has ${parts.length} parts; the limit is ${mostParts}`)
  }
  const isEmpty = parts.every(
    (part) => part?.type === 'text' && (typeof part.text !== 'string' || part.text.trim() === ''),
  )
  if (isEmpty) throw new InvalidArgumentError('message', 'is empty; send some text or a file')
  const files = new Map<string, NewFile>()
  const message = { parts: parts.map((part, index) => toUserPart(part, index, files)) }
  return { message, files: [...files.values()] }
}

function partsOf(input: MessageInput): readonly InputPart[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  const parts: unknown = Array.isArray(input) ? input : Object(input).parts
  if (Array.isArray(parts)) return parts
  throw new InvalidArgumentError('message', 'must be text, or a list of text and file parts')
}

function toUserPart(part: InputPart, index: number, files: Map<string, NewFile>): UserPart {
  // Each member is read once: a getter may return something else the next time.
  const { type, text, mediaType, data, filename } = Object(part) as Partial<Record<string, unknown>>
  if (type === 'text' && typeof text === 'string') return { type, text }
  const isNamed = filename === undefined || typeof filename === 'string'
  if (type !== 'file' || typeof mediaType !== 'string' || !isNamed) {
    throw new InvalidArgumentError(
      `message part ${index}`,
      "must be { type: 'text', text } or { type: 'file', mediaType, data, filename? }",
    )
  }
  const name = filename === undefined ? {} : { filename }
  const bytes = bytesOf(data, index)
  if (bytes === null) return { type: 'file', mediaType, data: addressOf(data, index), ...name }
  const blob = createHash('sha256').update(bytes).digest('hex')
  files.set(blob, { bytes, mediaType })
  return { type: 'file', mediaType, data: { blob, mediaType, size: bytes.byteLength }, ...name }
}

/** Null where they are somewhere else. */
function bytesOf(data: unknown, index: number): Uint8Array | null {
  if (data instanceof Uint8Array) return data
  const text = data instanceof URL ? data.href : data
  if (typeof text !== 'string' || !isDataUrl(text)) return null
  const bytes = bytesOfDataUrl(text)
  if (bytes) return bytes
  const problem = `has a data: URL that cannot be read, or holds more than ${maxDataUrlBytes} bytes; pass a Uint8Array`
  throw new InvalidArgumentError(`message part ${index}`, problem)
}

function addressOf(data: unknown, index: number): BlobRef | string {
  // A copy, so that changes that the caller makes afterwards have no effect.
  if (isBlobRef(data)) return { blob: data.blob, mediaType: data.mediaType, size: data.size }
  const text = data instanceof URL ? data.href : data
  if (typeof text === 'string' && isWebUrl(text)) return text
  const allowed = 'must have a Uint8Array, a blob ref, or a URL with http, https or data as its data'
  throw new InvalidArgumentError(`message part ${index}`, allowed)
}

/** Of the bytes. More is for a `Uint8Array`. */
export const maxDataUrlBytes = 16 * 1024 * 1024

/** The bytes that a `data:` URL holds; null when it is none that can be read, or holds too many. */
export function bytesOfDataUrl(url: string): Uint8Array | null {
  const comma = url.indexOf(',')
  if (comma < 0 || url.length > 2 * maxDataUrlBytes) return null
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, Math.min(comma, 1_000)))
  const bytes = isBase64 ? fromBase64(url.slice(comma + 1)) : percentDecoded(url.slice(comma + 1))
  return bytes && bytes.byteLength <= maxDataUrlBytes ? bytes : null
}

function fromBase64(text: string): Uint8Array | null {
  const plain = text.includes('%') ? Buffer.from(percentDecoded(text)).toString('latin1') : text
  return /^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(plain) ? new Uint8Array(Buffer.from(plain, 'base64')) : null
}

/** A percent sign that begins no byte stands for itself, as in browsers. */
function percentDecoded(text: string): Uint8Array {
  const given = Buffer.from(text, 'utf8')
  const bytes = new Uint8Array(given.length)
  let length = 0
  for (let index = 0; index < given.length; index++) {
    const code = given[index] === percent ? hexAt(given, index + 1) : null
    bytes[length++] = code ?? given[index]!
    if (code !== null) index += 2
  }
  return bytes.slice(0, length)
}

const percent = 0x25

function hexAt(bytes: Buffer, index: number): number | null {
  const text = bytes.toString('latin1', index, index + 2)
  return /^[0-9a-f]{2}$/i.test(text) ? Number.parseInt(text, 16) : null
}
