import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from 'lucide-react'
import type { View } from 'perdure/client'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { Line } from './lines.tsx'
import { hasEvent, type Row } from './rows.ts'
import { useTranscript } from './transcript-context.ts'

const nearTop = 600

type VirtualLinesProps = {
  readonly view: View
  readonly rows: readonly Row[]
  readonly loadOlder: (() => Promise<void>) | null
  readonly saidCount: number
}

/** The lines that are near the screen. Stays at the end while it grows, until a person scrolls up; older lines come in above without a jump. */
export function VirtualLines({ view, rows, loadOlder, saidCount }: VirtualLinesProps) {
  const { event, calls } = useTranscript()
  const scroller = useRef<HTMLDivElement>(null)
  const older = useOlder(loadOlder)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 96,
    getItemKey: (index) => rows[index]!.key,
    overscan: 6,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: 60,
    paddingStart: 16,
    paddingEnd: 16,
    useAnimationFrameWithResizeObserver: true,
  })
  const isAtEnd = virtualizer.isAtEnd(60)
  const isShown = rows.length > 0
  // Where the newest lines leave room, there is nothing to scroll: older ones come in by themselves. After each render, because sizes are measured late.
  useEffect(() => {
    const height = scroller.current?.clientHeight ?? 0
    if (isShown && older.error === null && virtualizer.getTotalSize() < height + nearTop) older.load()
  })
  useEffect(() => {
    // Once at first, and whenever the person says something.
    void saidCount
    if (isShown) virtualizer.scrollToEnd()
  }, [isShown, saidCount, virtualizer])
  // Once for each selection: what arrives later must not take the page away from under a reader.
  const scrolledTo = useRef<number | null>(null)
  useEffect(() => {
    if (event === null || scrolledTo.current === event) return
    const index = rows.findIndex((row) => hasEvent(row, event, calls))
    if (index < 0) return
    scrolledTo.current = event
    virtualizer.scrollToIndex(index, { align: 'auto' })
  }, [event, rows, calls, virtualizer])
  return (
    <div className="relative min-h-0 grow">
      <div
        ref={scroller}
        role="log"
        aria-label="Transcript"
        aria-live="off"
        data-seq={view.seq}
        tabIndex={-1}
        className="h-full overflow-y-auto [overflow-anchor:none]"
        onScroll={({ currentTarget }) => {
          if (currentTarget.scrollTop < nearTop) older.load()
        }}
      >
        {older.error !== null && (
          <p role="alert" className="px-4 pt-2 text-center text-failed">
            {errorWords(older.error)}{' '}
            <Button kind="quiet" onClick={older.load}>
              Try again
            </Button>
          </p>
        )}
        <div className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              className="absolute top-0 left-0 w-full px-4"
              style={{ transform: `translateY(${start}px)` }}
            >
              <div className="mx-auto max-w-180">
                <Line row={rows[index]!} />
              </div>
            </div>
          ))}
        </div>
      </div>
      {!isAtEnd && isShown && (
        <Button
          className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-md"
          onClick={() => virtualizer.scrollToEnd()}
        >
          <ArrowDown className="size-3.5" aria-hidden />
          {view.phase === 'running' ? 'Jump to the newest' : 'Jump to the end'}
        </Button>
      )}
    </div>
  )
}

/** Reads one page of older lines at a time, and renders again when one has come. */
function useOlder(loadOlder: (() => Promise<void>) | null): { load(): void; readonly error: unknown } {
  const isLoading = useRef(false)
  const [{ error }, setLast] = useState<{ readonly error: unknown }>({ error: null })
  const load = (): void => {
    if (!loadOlder || isLoading.current) return
    isLoading.current = true
    const ended = (failure: unknown): void => {
      isLoading.current = false
      setLast({ error: failure })
    }
    loadOlder().then(() => ended(null), ended)
  }
  return { load, error }
}
