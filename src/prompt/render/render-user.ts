import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { FilePart, UserPart } from '../../log/events.ts'
import { isFileUrl } from '../../log/file-url.ts'

export function renderUserParts(
  parts: readonly UserPart[],
  blobs: ReadonlyMap<string, Uint8Array> = new Map(),
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  return parts.flatMap((part) => {
    if (part.type === 'file') return [renderFile(part, blobs)]
    return part.text.trim() === '' ? [] : [{ type: 'text' as const, text: part.text.toWellFormed() }]
  })
}

function renderFile(
  part: FilePart,
  blobs: ReadonlyMap<string, Uint8Array>,
): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const filename = part.filename === undefined ? {} : { filename: part.filename.toWellFormed() }
  const name = filename.filename ?? ''
  if (typeof part.data === 'string') {
    if (!isFileUrl(part.data)) return { type: 'text', text: `[file ${name}: its address is not on the web]` }
    return { type: 'file', mediaType: part.mediaType, data: { type: 'url', url: new URL(part.data) }, ...filename }
  }
  const bytes = blobs.get(part.data.blob)
  if (!bytes) return { type: 'text', text: `[file ${name} is no longer available]` }
  return { type: 'file', mediaType: part.mediaType, data: { type: 'data', data: bytes }, ...filename }
}
