import type { InboxItem } from 'perdure/client'
import type { UsedInbox } from 'perdure/react'
import { useEffect, useRef } from 'react'
import { useReading } from '../parts/more-rows.tsx'
import { keyOf } from './item-key.ts'
import type { SteadyRow } from './steady-list.ts'

/** An address may name an old item: that many are read to find it. */
const mostRead = 1_000

export type NamedItem = {
  readonly row: SteadyRow<InboxItem> | null
  /** It may be on a page that has not been read. */
  readonly isAwaited: boolean
}

/** The item that the address names, also where a filter or a held list has no row of it. */
export function useNamedItem(
  inbox: UsedInbox,
  rows: readonly SteadyRow<InboxItem>[],
  callId: string | undefined,
): NamedItem {
  const { items, status, hasMore, loadMore } = inbox
  const row = rowOf(rows, callId) ?? rowWithout(items, callId)
  const { run, error } = useReading(loadMore)
  // One that was shown is not looked for when it goes.
  const shown = useRef<string | undefined>(undefined)
  useEffect(() => {
    if (row) shown.current = callId
  }, [row, callId])
  const isAwaited =
    callId !== undefined && !row && status === 'live' && hasMore && items.length < mostRead && error === null
  const count = items.length
  useEffect(() => {
    void count
    if (isAwaited && shown.current !== callId) run()
  }, [isAwaited, count, callId, run])
  return { row, isAwaited: isAwaited && shown.current !== callId }
}

/** A call can ask in several rounds: the one that waits is meant. */
function rowOf(rows: readonly SteadyRow<InboxItem>[], callId: string | undefined): SteadyRow<InboxItem> | null {
  const found = rows.filter(({ item }) => item.callId === callId)
  return found.find(({ isOver }) => !isOver) ?? found[0] ?? null
}

function rowWithout(items: readonly InboxItem[], callId: string | undefined): SteadyRow<InboxItem> | null {
  const item = items.findLast((candidate) => candidate.callId === callId)
  return item ? { key: keyOf(item), item, isOver: false } : null
}
