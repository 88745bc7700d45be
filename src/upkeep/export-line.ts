import { encode } from '../log/codec.ts'
import type { BlobHead, ConversationRow, RestoredConversation, Tombstone } from '../store/upkeep.ts'

/** Increased when a line changes in a way that an older version would misread. */
export const exportVersion = 1
export const exportFormat = 'perdure.export'

/** Has no time and no package version: the same data gives the same bytes. */
export function headerLine(tenant: string | null): string {
  return line({ format: exportFormat, version: exportVersion, tenant })
}

export function tenantLine(tenant: string): string {
  return line({ line: 'tenant', tenant })
}

export function blobLine({ hash, mediaType, pins }: BlobHead, size: number): string {
  return line({ line: 'blob', hash, mediaType, pins, size })
}

export function bytesLine(bytes: Uint8Array): string {
  return line({ line: 'bytes', data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') })
}

export function conversationLine(conversation: RestoredConversation): string {
  const { id, kind, agent, owner, status, createdAt, updatedAt, wakeAt, isDormant, childOf } = conversation
  const { settings, fsmState, title, parent } = conversation
  return line(
    { line: 'conversation', id, kind, agent, owner, status, createdAt, updatedAt, wakeAt, isDormant, childOf },
    { settings, fsmState, title, parent },
  )
}

export function rowLine({ type, row }: ConversationRow): string {
  switch (type) {
    case 'event': {
      const { seq, at, content } = row
      return line({ line: type, seq, at, type: row.type }, { content })
    }
    case 'call': {
      const { id, executor, status, round, kind, expiresAt, createdAt, resolvedAt, resolvedSeq } = row
      const { name, args, result, prompt, notice, meta } = row
      return line(
        { line: type, id, executor, status, round, kind, expiresAt, createdAt, resolvedAt, resolvedSeq },
        { name, args, result, prompt, notice, meta },
      )
    }
    case 'summary': {
      const { fromSeq, toSeq, version, content, base } = row
      return line({ line: type, fromSeq, toSeq, version }, { content, base })
    }
    case 'key': {
      const { key, seq, digest } = row
      return line({ line: type, key, seq, digest })
    }
    case 'model_call': {
      const { turnRef, at, latencyMs, summaryVersion, status, model, usage, evictions, renderedContext, meta } = row
      return line(
        { line: type, turnRef, at, latencyMs, summaryVersion },
        { status, model, usage, evictions, renderedContext, meta },
      )
    }
    case 'blob_ref': {
      const { hash, firstSeq } = row
      return line({ line: type, hash, firstSeq })
    }
  }
}

export function conversationEndLine(end: { readonly rows: number; readonly sha256: string }): string {
  return line({ line: 'conversation_end', ...end })
}

export function snapshotLine(id: string, snapshot: string): string {
  return line({ line: 'snapshot', id }, { snapshot })
}

export function tombstoneLine({ id, at }: Tombstone): string {
  return line({ line: 'tombstone', id, at })
}

export function endLine(end: {
  readonly conversations: number
  readonly lines: number
  readonly sha256: string
}): string {
  return line({ line: 'end', ...end })
}

type Plain = { readonly [name: string]: string | number | boolean | null }

/**
 * `texts` are JSON and are written as such when decoding and encoding them gives the same text, which holds for everything the codec wrote. Any other text is
 * written as a string under another name. Nulls are left out: `null` is a value of its own.
 */
function line(plain: Plain, texts: { readonly [name: string]: string | null } = {}): string {
  let text = JSON.stringify(plain).slice(0, -1)
  for (const [name, json] of Object.entries(texts)) {
    if (json === null) continue
    text += isCanonical(json) ? `,"${name}":${json}` : `,"${name}${textSuffix}":${JSON.stringify(json)}`
  }
  return `${text}}\n`
}

export const textSuffix = 'Text'

function isCanonical(json: string): boolean {
  try {
    return encode(JSON.parse(json)) === json
  } catch {
    return false
  }
}
