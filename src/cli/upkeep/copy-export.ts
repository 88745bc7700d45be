import { RemoteError } from '../../base/errors/server-errors.ts'
import type { Exported } from '../../upkeep/export-store.ts'
import type { OnProgress } from '../../upkeep/progress.ts'
import type { Write } from './upkeep-target.ts'

const newline = 0x0a
/** Far more than a line that matters here has; what is longer is passed on before it ends. */
const heldBytes = 64 * 1024
const ofConversation = Buffer.from('{"line":"conversation_end"')
const ofEnd = Buffer.from('{"line":"end"')
const ofProblem = Buffer.from('{"line":"problem"')

/** Passes an export on, byte for byte. Null when it ended without its last line. A line that tells of a problem is thrown, and not passed on. */
export async function copyExport(
  chunks: AsyncIterable<Uint8Array>,
  write: Write,
  { total, onProgress }: { readonly total: number | null; readonly onProgress: OnProgress },
): Promise<Exported | null> {
  let held: Buffer = Buffer.alloc(0)
  let isInLine = false
  let [done, rows] = [0, 0]
  let exported: Exported | null = null
  for await (const chunk of chunks) {
    const bytes =
      held.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([held, chunk])
    let from = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      const line = isInLine ? null : bytes.subarray(from, end)
      if (line && startsWith(line, ofConversation)) done += 1
      else if (line && startsWith(line, ofProblem)) throw new RemoteError(JSON.parse(String(line)).problem)
      else if (line && startsWith(line, ofEnd)) exported = exportedIn(line)
      isInLine = false
      rows += 1
      from = end + 1
    }
    const passedOn = bytes.length - from > heldBytes ? bytes.length : from
    isInLine ||= passedOn > from
    if (passedOn > 0) await write(bytes.subarray(0, passedOn))
    held = bytes.subarray(passedOn)
    onProgress({ done, total, rows })
  }
  return held.length === 0 ? exported : null
}

function startsWith(line: Buffer, head: Buffer): boolean {
  return line.length >= head.length && line.compare(head, 0, head.length, 0, head.length) === 0
}

function exportedIn(line: Buffer): Exported {
  const { sha256, conversations } = JSON.parse(String(line)) as { sha256: string; conversations: number }
  return { digest: sha256, conversations }
}
