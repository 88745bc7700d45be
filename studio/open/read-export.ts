import type { Json, LogEvent, RemoteModelCall, RemoteRecord } from 'perdure/client'

/** A conversation of an export. */
export type ExportedConversation = {
  readonly record: RemoteRecord
  readonly settings: Json
  readonly childOf: string | null
  readonly events: readonly LogEvent[]
  readonly modelCalls: readonly RemoteModelCall[]
}

/** A file of an export. `data` is base64. */
export type ExportedFile = { readonly mediaType: string; readonly data: readonly string[] }

/** What is in an export, by tenant. */
export type Export = {
  readonly tenants: readonly ExportedTenant[]
  /** Why not everything could be read: the file is cut off, or a line is not of an export. */
  readonly problem: string | null
}

export type ExportedTenant = {
  readonly tenant: string
  readonly conversations: ReadonlyMap<string, ExportedConversation>
  readonly files: ReadonlyMap<string, ExportedFile>
}

/** A file that is not an export at all, or one that this version cannot read. */
export class NotAnExport extends Error {}

const format = 'perdure.export'
const version = 1
/** Far longer than any line of an export. */
const longestLine = 64 * 1024 * 1024

/**
 * Reads a file that `perdure export` wrote, line by line. What comes before a line that cannot be read is kept. Rejects with `NotAnExport` when the first line is
 * not that of an export.
 */
export async function readExport(
  file: ReadableStream<Uint8Array>,
  onProgress: (bytes: number) => void = () => {},
): Promise<Export> {
  const reading = new Reading()
  const problem = await reading.readAll(file, onProgress)
  return { tenants: reading.tenants(), problem }
}

class Reading {
  readonly #tenants: {
    tenant: string
    conversations: Map<string, ExportedConversation>
    files: Map<string, ExportedFile>
  }[] = []
  #lines = 0
  #hasEnded = false
  #open: { record: Fields; events: LogEvent[]; modelCalls: RemoteModelCall[] } | null = null
  #bytesOf: string[] | null = null

  tenants(): ExportedTenant[] {
    return this.#tenants
  }

  /** Returns what is wrong with the file, or null. */
  async readAll(file: ReadableStream<Uint8Array>, onProgress: (bytes: number) => void): Promise<string | null> {
    try {
      for await (const line of linesOf(file, onProgress)) {
        this.#lines += 1
        this.#take(parsed(line))
      }
    } catch (error) {
      if (error instanceof NotAnExport && this.#lines > 1) return this.#stop(error.message)
      throw error
    }
    if (this.#lines === 0) throw new NotAnExport('The file is empty.')
    return this.#hasEnded ? null : this.#stop('The file is cut off here.')
  }

  #stop(why: string): string {
    this.#endConversation()
    return `Line ${this.#lines.toLocaleString('en')}: ${why} Everything before it is shown.`
  }

  #take(line: Fields): void {
    if (this.#lines === 1) return checkHeader(line)
    switch (line['line']) {
      case 'tenant':
        this.#endConversation()
        this.#tenants.push({ tenant: text(line, 'tenant'), conversations: new Map(), files: new Map() })
        return
      case 'blob':
        this.#bytesOf = []
        this.#tenant().files.set(text(line, 'hash'), { mediaType: text(line, 'mediaType'), data: this.#bytesOf })
        return
      case 'bytes':
        this.#bytesOf?.push(text(line, 'data'))
        return
      case 'conversation':
        this.#endConversation()
        this.#open = { record: line, events: [], modelCalls: [] }
        return
      case 'event':
        return this.#event(line)
      case 'model_call':
        this.#conversation().modelCalls.push(modelCallIn(line))
        return
      case 'conversation_end':
        return this.#endConversation()
      case 'problem':
        throw new NotAnExport(`The export broke off: ${reasonIn(line['problem'])}`)
      case 'end':
        this.#hasEnded = true
        return
      // Rows that no page shows, and those of later versions.
      default:
        return
    }
  }

  /** Events of a log are in order, without a gap. */
  #event(line: Fields): void {
    const { record, events } = this.#conversation()
    const seq = whole(line, 'seq')
    if (seq !== events.length + 1) throw new NotAnExport(`Event ${seq} does not follow event ${events.length}.`)
    const event = { conversationId: text(record, 'id'), seq, at: whole(line, 'at'), type: text(line, 'type') }
    events.push({ ...event, content: json(line, 'content') } as unknown as LogEvent)
  }

  #endConversation(): void {
    if (!this.#open) return
    const { record, events, modelCalls } = this.#open
    this.#open = null
    const id = text(record, 'id')
    const childOf = record['childOf']
    this.#tenant().conversations.set(id, {
      record: recordIn(record, events),
      settings: json(record, 'settings'),
      events,
      modelCalls,
      childOf: typeof childOf === 'string' ? childOf : null,
    })
  }

  #tenant() {
    const last = this.#tenants.at(-1)
    if (!last) throw new NotAnExport('It belongs to no tenant.')
    return last
  }

  #conversation() {
    if (!this.#open) throw new NotAnExport('It belongs to no conversation.')
    return this.#open
  }
}

type Fields = { readonly [name: string]: unknown }

function checkHeader(line: Fields): void {
  if (line['format'] !== format) throw new NotAnExport('This file was not written by perdure export.')
  const written = line['version']
  if (typeof written !== 'number' || written > version)
    throw new NotAnExport(
      `The file has version ${String(written)} of the format; this page reads version ${version}. Open it with a newer perdure.`,
    )
}

function recordIn(line: Fields, events: readonly LogEvent[]): RemoteRecord {
  const title = json(line, 'title')
  const parent = json(line, 'parent')
  const last = events.at(-1)
  return {
    id: text(line, 'id'),
    kind: line['kind'] === 'flow' ? 'flow' : 'conversation',
    agent: typeof line['agent'] === 'string' ? line['agent'] : null,
    owner: typeof line['owner'] === 'string' ? line['owner'] : null,
    status: statusIn(line, events),
    title: typeof title === 'string' ? title : null,
    parent: isParent(parent) ? parent : null,
    lastSeq: last?.seq ?? 0,
    createdAt: whole(line, 'createdAt'),
    updatedAt: whole(line, 'updatedAt'),
  } as RemoteRecord
}

/** As lists show it: a log that waits for an answer, and a session that is over. */
function statusIn(line: Fields, events: readonly LogEvent[]): RemoteRecord['status'] {
  const status = text(line, 'status')
  if (status === 'suspended') return 'waiting'
  return (status === 'ended' && events[0]?.type === 'flow_started' ? 'done' : status) as RemoteRecord['status']
}

function isParent(value: Json): value is { readonly id: string; readonly at?: number } {
  const { id, at = 0 } = Object(value) as { id?: unknown; at?: unknown }
  return typeof id === 'string' && typeof at === 'number'
}

function modelCallIn(line: Fields): RemoteModelCall {
  const status = json(line, 'status')
  const meta = json(line, 'meta')
  return {
    turnRef: text(line, 'turnRef'),
    at: whole(line, 'at'),
    latencyMs: typeof line['latencyMs'] === 'number' ? line['latencyMs'] : null,
    summaryVersion: typeof line['summaryVersion'] === 'number' ? line['summaryVersion'] : null,
    status: typeof status === 'string' ? status : 'unknown',
    model: json(line, 'model'),
    usage: json(line, 'usage'),
    evictions: json(line, 'evictions'),
    renderedContext: json(line, 'renderedContext'),
    meta: typeof meta === 'object' && meta !== null && !Array.isArray(meta) ? meta : null,
  } as RemoteModelCall
}

/** What a server says when it could not write the rest. */
function reasonIn(problem: unknown): string {
  const { detail } = Object(problem) as { detail?: unknown }
  return typeof detail === 'string' ? detail : 'the server does not say why.'
}

function text(line: Fields, name: string): string {
  const value = line[name]
  if (typeof value !== 'string') throw new NotAnExport(`'${name}' is not a string.`)
  return value
}

function whole(line: Fields, name: string): number {
  const value = line[name]
  if (!Number.isSafeInteger(value)) throw new NotAnExport(`'${name}' is not a whole number.`)
  return value as number
}

/** A value that JSON cannot give back as it was stored is written as a string, under another name. */
function json(line: Fields, name: string): Json {
  const stored = line[`${name}Text`]
  if (typeof stored !== 'string') return (line[name] ?? null) as Json
  try {
    return JSON.parse(stored) as Json
  } catch {
    return stored
  }
}

function parsed(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  } catch {}
  throw new NotAnExport('This is not a line of an export.')
}

/** The lines of a file, without their ends. */
async function* linesOf(file: ReadableStream<Uint8Array>, onProgress: (bytes: number) => void): AsyncGenerator<string> {
  const reader = file.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      bytes += value?.byteLength ?? 0
      rest += decoded(decoder, value)
      onProgress(bytes)
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (rest.length > longestLine) throw new NotAnExport('This line is longer than a line of an export can be.')
      if (done) break
    }
    if (rest !== '') yield rest
  } finally {
    reader.cancel().catch(() => {})
  }
}

function decoded(decoder: TextDecoder, value: Uint8Array | undefined): string {
  try {
    return value ? decoder.decode(value, { stream: true }) : decoder.decode()
  } catch {
    throw new NotAnExport('This file is not text.')
  }
}
