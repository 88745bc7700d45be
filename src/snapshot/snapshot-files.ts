import { isWebUrl } from '../log/blob-ref.ts'
import type { UserPart } from '../log/events.ts'
import type { Snapshot, SnapshotFile, SnapshotMessage, SnapshotPart } from '../log/snapshot.ts'
import type { TenantStore } from '../store/store.ts'

/** The most bytes of files in one snapshot, before base64. */
const mostFileBytes = 2 * 1024 * 1024

/** Adds the bytes of files, from the newest to the oldest, while they fit. A file that a later message repeats is added once. */
export async function withFileBytes(snapshot: Snapshot, store: Pick<TenantStore, 'getBlob'>): Promise<Snapshot> {
  const wanted = filesIn(snapshot.messages).filter(({ blob }) => blob !== undefined)
  if (wanted.length === 0) return snapshot
  const data = new Map<SnapshotFile, string>()
  const seen = new Set<string>()
  let room = mostFileBytes
  for (const file of wanted.toReversed()) {
    const blob = file.blob!
    if (seen.has(blob.blob) || blob.size > room) continue
    seen.add(blob.blob)
    // The size in a ref is what the sender claims.
    const { bytes } = (await store.getBlob(blob, { from: 0, length: room + 1 })) ?? {}
    if (!bytes || bytes.byteLength > room) continue
    room -= bytes.byteLength
    data.set(file, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'))
  }
  return mapFiles(snapshot, (file) => (data.has(file) ? { ...file, data: data.get(file)! } : file))
}

/** More are not restored. A snapshot that was taken here has fewer. */
const mostRestoredBytes = 8 * 1024 * 1024

/**
 * Stores the files of a snapshot, and returns the part that stands for each. A file without bytes stays a file if the store still has them; otherwise a text
 * takes its place.
 */
export async function storeFiles(snapshot: Snapshot, store: TenantStore): Promise<(file: SnapshotFile) => UserPart> {
  const parts = new Map<SnapshotFile, UserPart>()
  const stored = new Map<string, UserPart | null>()
  let room = mostRestoredBytes
  for (const file of filesIn(snapshot.messages).toReversed()) {
    const { mediaType, data, blob, url, filename } = file
    const name = filename === null ? {} : { filename }
    const hash = blob?.blob ?? ''
    if (!isMediaType.test(mediaType)) continue
    if (url !== undefined) {
      if (isWebUrl(url)) parts.set(file, { type: 'file', mediaType, data: url, ...name })
      continue
    }
    if (data !== undefined && data.length * 0.75 <= room) {
      const bytes = Buffer.from(data, 'base64')
      room -= bytes.byteLength
      const ref = await store.putBlob(bytes, mediaType)
      const part: UserPart = { type: 'file', mediaType, data: ref }
      parts.set(file, { ...part, ...name })
      stored.set(ref.blob, part)
      continue
    }
    if (!blob) continue
    if (!stored.has(hash)) {
      const found = await store.getBlob(blob, { from: 0, length: 1 })
      const { size } = blob
      stored.set(hash, found && { type: 'file', mediaType, data: { blob: hash, mediaType: found.mediaType, size } })
    }
    const part = stored.get(hash)
    if (part) parts.set(file, { ...part, ...name })
  }
  return (file) => parts.get(file) ?? { type: 'text', text: missing(file) }
}

const isMediaType = /^[!-~]{1,255}$/

function missing({ mediaType, filename }: SnapshotFile): string {
  return `[file ${filename === null ? '' : `${filename} `}(${mediaType}): it was not in the snapshot]`
}

function filesIn(messages: readonly SnapshotMessage[]): SnapshotFile[] {
  return messages.flatMap(({ parts }) => parts.filter((part): part is SnapshotFile => part.type === 'file'))
}

function mapFiles(snapshot: Snapshot, change: (file: SnapshotFile) => SnapshotFile): Snapshot {
  const changePart = (part: SnapshotPart): SnapshotPart => (part.type === 'file' ? change(part) : part)
  return {
    ...snapshot,
    messages: snapshot.messages.map((message) => ({ ...message, parts: message.parts.map(changePart) })),
  }
}
