import { useVirtualizer } from '@tanstack/react-virtual'
import type { RemoteRecord } from 'perdure/client'
import type { UsedList } from 'perdure/react'
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useLocation } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { MoreRows, useReading } from '../parts/more-rows.tsx'
import { type Key, useKeys } from '../shell/keys.ts'
import { ConversationRow, columns } from './conversation-row.tsx'
import { useHeldRows } from './held-rows.ts'

/** How many rows before the end the next page is asked for. */
const readAhead = 150
/** Of the headings, which stay above the rows. */
const headingHeight = 28
const narrow = matchMedia('(max-width: 767px)')

/** Rows near the screen. They do not move while the pointer is on them or one is selected. */
export function RowList({ list, scope }: { list: UsedList<RemoteRecord>; scope: string }) {
  const scroller = useRef<HTMLDivElement>(null)
  const isNarrow = useSyncExternalStore(onNarrow, () => narrow.matches)
  const [isPointed, setPointed] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const [, navigate] = useLocation()
  const { rows, isOver, arrived } = useHeldRows(list.items, isPointed || chosen !== null, scope)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? 56 : 32),
    getItemKey: (index) => rows[index]!.id,
    overscan: 24,
    paddingStart: isNarrow ? 0 : headingHeight,
    scrollPaddingStart: isNarrow ? 0 : headingHeight,
  })
  useEffect(() => {
    // Rows of another width have another height.
    void isNarrow
    virtualizer.measure()
  }, [isNarrow, virtualizer])
  const shown = virtualizer.getVirtualItems()
  const { hasMore, loadMore } = list
  const reading = useReading(loadMore)
  const { run } = reading
  const isNearEnd = hasMore && (shown.at(-1)?.index ?? 0) >= rows.length - readAhead
  useEffect(() => {
    if (isNearEnd && rows.length > 0) run()
  }, [isNearEnd, rows.length, run])
  const keys = useMemo<readonly Key[]>(() => {
    const move = (by: number): void => {
      const at = rows.findIndex(({ id }) => id === chosen)
      const next = Math.min(rows.length - 1, Math.max(0, at + by))
      setChosen(rows[next]?.id ?? null)
      virtualizer.scrollToIndex(next)
    }
    const open = (): void => {
      if (chosen !== null) navigate(addresses.conversation(chosen))
    }
    return [
      { key: 'j', does: 'Next conversation', run: () => move(1) },
      { key: 'k', does: 'Previous conversation', run: () => move(-1) },
      { key: 'Enter', does: 'Open the conversation', run: open },
      { key: 'Escape', does: 'Select nothing', run: () => setChosen(null) },
    ]
  }, [rows, chosen, navigate, virtualizer])
  useKeys(keys)
  return (
    <div className="relative min-h-0 grow">
      {arrived > 0 && (
        <Button
          className="absolute top-10 left-1/2 z-1 -translate-x-1/2 shadow-md"
          onClick={() => {
            setChosen(null)
            setPointed(false)
            virtualizer.scrollToOffset(0)
          }}
        >
          {arrived === 1 ? 'Show 1 new conversation' : `Show ${arrived.toLocaleString()} new conversations`}
        </Button>
      )}
      <div
        ref={scroller}
        className="h-full overflow-y-auto"
        onPointerEnter={() => setPointed(true)}
        onPointerLeave={() => setPointed(false)}
      >
        <Headings />
        <ul aria-label="Conversations" className="relative" style={{ height: virtualizer.getTotalSize() }}>
          {shown.map(({ key, index, start, size }) => (
            <li
              key={key}
              className="absolute top-0 left-0 w-full"
              style={{ height: size, transform: `translateY(${start}px)` }}
            >
              <ConversationRow
                record={rows[index]!}
                isChosen={rows[index]!.id === chosen}
                isOver={isOver.has(rows[index]!.id)}
              />
            </li>
          ))}
        </ul>
        {hasMore && <MoreRows reading={reading} />}
      </div>
    </div>
  )
}

/** Each row says by itself what its parts are. */
function Headings() {
  return (
    <div
      aria-hidden
      className={`sticky top-0 z-1 -mb-7 grid h-7 items-center border-b bg-panel text-xs text-faint max-md:hidden ${columns}`}
    >
      <span>Status</span>
      <span>Conversation and newest message</span>
      <span>Agent</span>
      <span>Owner</span>
      <span className="text-right">Waiting</span>
      <span className="text-right">Tokens</span>
      <span className="text-right">Events</span>
      <span className="text-right">Changed</span>
      <span className="text-right">Age</span>
    </div>
  )
}

function onNarrow(listener: () => void): () => void {
  narrow.addEventListener('change', listener)
  return () => narrow.removeEventListener('change', listener)
}
