import type { StoredConversation, StoredEvent, StoredInboxCall, StoredModelCall } from './driver.ts'
import type { PageBounds } from './store.ts'

/**
 * The first of the rows, as many as the bounds allow, and at least one where there is one. Takes one row more than it returns, at most. For drivers.
 */
export function fittingRows<Row>(
  rows: Iterable<Row>,
  { limit = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY }: PageBounds,
  bytesOf: (row: Row) => number,
): Row[] {
  const kept: Row[] = []
  let bytes = 0
  for (const row of rows) {
    if (maxBytes !== Number.POSITIVE_INFINITY) bytes += bytesOf(row)
    if (kept.length > 0 && bytes > maxBytes) break
    kept.push(row)
    if (kept.length >= limit) break
  }
  return kept
}

/** What counts of each kind of row; see the methods of `Driver`. */
export const rowBytes = {
  event: ({ content }: StoredEvent) => bytesIn(content),
  conversation: ({ title, parent, fsmState, settings }: StoredConversation) =>
    bytesIn(title, parent, fsmState, settings),
  inboxCall: ({ name, args, prompt, title }: StoredInboxCall) => bytesIn(name, args, prompt, title),
  modelCall: ({ status, model, usage, evictions, renderedContext }: StoredModelCall) =>
    bytesIn(status, model, usage, evictions, renderedContext),
}

function bytesIn(...texts: readonly (string | null)[]): number {
  let bytes = 0
  for (const text of texts) if (text !== null) bytes += Buffer.byteLength(text)
  return bytes
}
