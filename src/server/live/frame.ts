import { encode } from '../../log/codec.ts'
import type { WatchEvent } from '../../view/project-view.ts'
import { jsonText } from '../answer.ts'
import { type Cursor, formatCursor } from './cursor.ts'

const encoder = new TextEncoder()

/** One event as it goes over the wire, whoever it goes to. */
export function frameOf(event: WatchEvent, cursor: Cursor): Uint8Array {
  return encoder.encode(`id: ${formatCursor(cursor)}\ndata: ${dataOf(event)}\n\n`)
}

export const heartbeat = encoder.encode(':\n\n')

/** Tells clients how soon to come back. */
export const greeting = encoder.encode('retry: 1000\n\n')

function dataOf(event: WatchEvent): string {
  if (event.type === 'snapshot') return jsonText(event)
  return 'content' in event ? encode(event) : JSON.stringify(event)
}
