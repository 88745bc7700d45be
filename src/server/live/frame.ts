import { encode } from '../../log/codec.ts'
import type { WatchEvent } from '../../view/project-view.ts'
import { trimView } from '../../view/trim-view.ts'
import type { View } from '../../view/view.ts'
import { jsonText } from '../answer.ts'
import { type Cursor, formatCursor } from './cursor.ts'

const encoder = new TextEncoder()

/** One event as it goes over the wire, whoever it goes to. */
export function frameOf(event: WatchEvent, cursor: Cursor): Uint8Array {
  return encoder.encode(`id: ${formatCursor(cursor)}\ndata: ${dataOf(event)}\n\n`)
}

const leastBytes = 4 * 1024

/** A snapshot in a frame of no more than so many bytes: of a view that is larger, its newest messages. */
export function snapshotFrame(view: View, cursor: Cursor, mostBytes: number): Uint8Array {
  // A view holds what it shows several times.
  for (let maxBytes = mostBytes / 4; ; maxBytes /= 2) {
    const frame = frameOf({ type: 'snapshot', view: trimView(view, maxBytes) }, cursor)
    if (frame.byteLength <= mostBytes || maxBytes < leastBytes) return frame
  }
}

export const heartbeat = encoder.encode(':\n\n')

/** Tells clients how soon to come back. */
export const greeting = encoder.encode('retry: 1000\n\n')

function dataOf(event: WatchEvent): string {
  if (event.type === 'snapshot') return jsonText(event)
  return 'content' in event ? encode(event) : JSON.stringify(event)
}
