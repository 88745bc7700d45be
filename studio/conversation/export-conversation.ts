import { type Client, type LogEvent, PerdureError, type RemoteModelCall, type RemoteRecord } from 'perdure/client'
import { loadFile } from '../parts/load-file.ts'
import { save } from '../parts/save.ts'

/** Saves what this person may read of a conversation: see `exportLines`. Returns how many events of it there are. */
export async function exportConversation(client: Client, id: string): Promise<number> {
  const { lines, events } = await exportLines(client, id, loadFile)
  const text = lines.map((line) => `${JSON.stringify(line)}\n`)
  save(
    URL.createObjectURL(new Blob(text, { type: 'application/x-ndjson' })),
    `${id.replaceAll(/[^\w.-]+/g, '-').slice(0, 80)}.jsonl`,
  )
  return events
}

type Loader = (conversationId: string, blob: string) => Promise<ArrayBuffer>

/**
 * The lines of `perdure export` for one conversation and its child agents, without digests, for the studio at `/open`. Model calls and files are left out where
 * this person may not read them.
 */
async function exportLines(
  client: Client,
  id: string,
  load: Loader,
): Promise<{ readonly lines: readonly object[]; readonly events: number }> {
  const files = new Map<string, string>()
  const logs: object[] = []
  const count = await conversationLines({ client, files, logs }, id, null)
  const blobs: object[] = []
  for (const [hash, mediaType] of files) {
    // One that was deleted, or that this person may not read.
    const bytes = await load(id, hash).catch(() => null)
    if (!bytes) continue
    blobs.push({ line: 'blob', hash, mediaType, pins: 0, size: bytes.byteLength })
    for (let from = 0; from < bytes.byteLength; from += pieceBytes)
      blobs.push({ line: 'bytes', data: base64(new Uint8Array(bytes.slice(from, from + pieceBytes))) })
  }
  const lines = [
    { format: 'perdure.export', version: 1, tenant: null },
    { line: 'tenant', tenant: '' },
    ...blobs,
    ...logs,
  ]
  const conversations = logs.filter((line) => 'line' in line && line.line === 'conversation').length
  return { lines: [...lines, { line: 'end', conversations, lines: lines.length + 1 }], events: count }
}

type Writing = { readonly client: Client; readonly files: Map<string, string>; readonly logs: object[] }

/** Returns how many events the conversation has; its child agents follow it. */
async function conversationLines(
  { client, files, logs }: Writing,
  id: string,
  childOf: string | null,
): Promise<number> {
  const handle = client.conversation(id)
  const { agent, owner, status, createdAt, updatedAt, title, parent, kind }: RemoteRecord = await handle.record()
  const head = { line: 'conversation', id, kind, agent, owner, status, createdAt, updatedAt }
  logs.push({ ...head, wakeAt: null, isDormant: false, childOf, settings: null, title, parent })
  const children: string[] = []
  let events = 0
  for await (const page of handle.eventPages({ after: 0 })) {
    for (const event of page) {
      const { seq, at, type, content } = event
      logs.push({ line: 'event', seq, at, type, content })
      filesIn(content, files)
      if (isChild(event)) children.push(`child-${event.content.callId}`)
    }
    events += page.length
  }
  const calls = await modelCalls(client, id)
  for (const {
    turnRef,
    at,
    latencyMs,
    summaryVersion,
    status,
    model,
    usage,
    evictions,
    renderedContext,
    meta,
  } of calls) {
    const call = { line: 'model_call', turnRef, at, latencyMs, summaryVersion }
    logs.push({ ...call, status, model, usage, evictions, renderedContext, meta })
  }
  logs.push({ line: 'conversation_end', rows: events + calls.length })
  // A child whose first event was never written has no conversation.
  for (const child of children) await readable(conversationLines({ client, files, logs }, child, id), 0)
  return events
}

function isChild(event: LogEvent): event is Extract<LogEvent, { type: 'suspension' }> {
  return event.type === 'suspension' && event.content.kind === 'sub_agent'
}

async function modelCalls(client: Client, id: string): Promise<RemoteModelCall[]> {
  const handle = client.conversation(id)
  const rows = await readable(handle.modelCalls(), [])
  const found: RemoteModelCall[] = []
  for (const turnRef of new Set(rows.map((row) => row.turnRef)))
    found.push(...(await readable(handle.modelCall(turnRef), [])))
  return found
}

/** What the server does not show to this person is left out. */
async function readable<T>(asked: Promise<T>, other: T): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (PerdureError.isInstance(error) && !error.retryable) return other
    throw error
  }
}

function filesIn(value: unknown, files: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) return
  const { blob, mediaType } = value as { readonly blob?: unknown; readonly mediaType?: unknown }
  if (typeof blob === 'string' && /^[0-9a-f]{64}$/.test(blob) && typeof mediaType === 'string')
    files.set(blob, mediaType)
  for (const member of Object.values(value)) filesIn(member, files)
}

/** Pieces without a rest, so that each can be read alone. */
const pieceBytes = 3 * 64 * 1024

function base64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}
