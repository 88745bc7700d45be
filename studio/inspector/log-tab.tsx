import { useVirtualizer } from '@tanstack/react-virtual'
import { Search } from 'lucide-react'
import type { LogEvent } from 'perdure/client'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { describeEvent, whoOf } from './describe-event.ts'
import { EventDetail } from './event-detail.tsx'
import { chunkSize, type EventLog } from './event-log.ts'
import type { PanelProps } from './inspector.tsx'
import { usePlace } from './place.ts'
import { isEmptyQuery, type LogQuery, matches, parseQuery } from './search-log.ts'

/** Every event up to the moment that is shown. Only the rows on screen are there, and only their events are read. */
export function LogTab({ id, log, end }: PanelProps) {
  const { event, go } = usePlace()
  const [search] = useSearchParams()
  const find = search.get('find') ?? ''
  const query = useMemo(() => parseQuery(find), [find])
  const isSearching = !isEmptyQuery(query)
  const searched = useSearch(log, end, isSearching)
  const version = useDeferredValue(log.version)
  const found = useMemo(
    () => (isSearching ? matching(version, log, end, query) : null),
    [version, log, end, query, isSearching],
  )
  const selected = event === null ? undefined : log.event(event)
  if (end < 1) return <Notice title="Nothing has happened yet." />
  return (
    <div className="flex h-full min-h-0 flex-col">
      <label className="flex shrink-0 items-center gap-2 border-b px-3 text-faint">
        <Search className="size-3.5 shrink-0" aria-hidden />
        <input
          type="search"
          aria-label="Search the log"
          placeholder="type:resolution who:eve text"
          value={find}
          spellCheck={false}
          className="min-h-9 min-w-0 grow bg-transparent text-text outline-none placeholder:text-faint max-md:min-h-11"
          onChange={(changed) => go({ find: changed.currentTarget.value || null }, { replace: true })}
        />
        {found && (
          <span role="status" className="whitespace-nowrap text-xs">
            {found.length.toLocaleString()} found
            {searched.done < end && `, searched ${searched.done.toLocaleString()} of ${end.toLocaleString()}`}
          </span>
        )}
      </label>
      {searched.error !== null && (
        <p role="alert" className="px-3 py-1 text-failed">
          {errorWords(searched.error)}
        </p>
      )}
      {found?.length === 0 && searched.done >= end ? (
        <Notice title="No event matches.">
          <p>
            Words match anywhere in an event; <code>type:</code>, <code>who:</code>, <code>seq:10-20</code> and the
            names of other fields narrow it down.
          </p>
        </Notice>
      ) : (
        <Rows
          key={isSearching ? 'found' : 'all'}
          log={log}
          seqs={found}
          count={found?.length ?? end}
          selected={event}
        />
      )}
      {selected && <EventDetail id={id} event={selected} />}
    </div>
  )
}

/** The events that match, of those that are loaded. `version`: what is loaded. */
function matching(_version: number, log: EventLog, end: number, query: LogQuery): number[] {
  const seqs: number[] = []
  for (let seq = 1; seq <= end; seq++) {
    const candidate = log.event(seq)
    if (candidate && matches(candidate, query)) seqs.push(seq)
  }
  return seqs
}

type RowsProps = {
  readonly log: EventLog
  /** The events of the rows; null: all of them, from the first. */
  readonly seqs: readonly number[] | null
  readonly count: number
  readonly selected: number | null
}

const rowHeight = 32

function Rows({ log, seqs, count, selected }: RowsProps) {
  const { go } = usePlace()
  const scroller = useRef<HTMLDivElement>(null)
  const seqOf = (index: number): number => seqs?.[index] ?? index + 1
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    initialOffset: selected === null && !seqs ? count * rowHeight : 0,
  })
  const items = virtualizer.getVirtualItems()
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0]
  useEffect(() => {
    if (count > 0 && !seqs) void log.load(first + 1, last + 1).catch(() => {})
  }, [log, count, seqs, first, last])
  const indexOfSelected = selected === null ? -1 : seqs ? seqs.indexOf(selected) : selected - 1
  useEffect(() => {
    if (indexOfSelected >= 0) virtualizer.scrollToIndex(indexOfSelected, { align: 'auto' })
  }, [indexOfSelected, virtualizer])
  const step = (by: number): void => {
    const index = Math.min(count - 1, Math.max(0, (indexOfSelected < 0 ? count - 1 : indexOfSelected) + by))
    go({ event: seqOf(index) }, { replace: true })
  }
  return (
    <div
      ref={scroller}
      role="listbox"
      aria-label="Events"
      aria-activedescendant={selected === null ? undefined : `event-${selected}`}
      tabIndex={0}
      className="min-h-0 grow overflow-y-auto font-mono text-xs"
      onKeyDown={(pressed) => {
        const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 20, PageUp: -20 }[pressed.key]
        if (by === undefined) return
        pressed.preventDefault()
        step(by)
      }}
    >
      <div className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ key, index, start }) => {
          const seq = seqOf(index)
          return (
            <EventRow
              key={key}
              {...{ seq, start }}
              event={log.event(seq)}
              isSelected={seq === selected}
              onSelect={() => go({ event: seq }, { replace: true })}
            />
          )
        })}
      </div>
    </div>
  )
}

type EventRowProps = {
  readonly seq: number
  readonly start: number
  readonly event: LogEvent | undefined
  readonly isSelected: boolean
  onSelect(): void
}

const hour = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

function EventRow({ seq, start, event, isSelected, onSelect }: EventRowProps) {
  return (
    // The list takes the keys: arrows select.
    <div
      id={`event-${seq}`}
      role="option"
      aria-selected={isSelected}
      tabIndex={-1}
      className={`absolute top-0 left-0 flex h-8 w-full cursor-pointer items-center gap-2 px-3 ${isSelected ? 'bg-selected' : 'hover:bg-hover'}`}
      style={{ transform: `translateY(${start}px)` }}
      onClick={onSelect}
      onKeyDown={(pressed) => pressed.key === 'Enter' && onSelect()}
    >
      <span className="w-10 shrink-0 text-right text-faint">{seq.toLocaleString()}</span>
      {event && (
        <>
          <span className="shrink-0">{oneLine(event.type, 40)}</span>
          <span className="min-w-0 grow truncate font-sans text-soft" title={oneLine(whoOf(event) ?? '', 80)}>
            {oneLine(describeEvent(event), 160)}
          </span>
          <time dateTime={new Date(event.at).toISOString()} className="shrink-0 text-faint max-md:hidden">
            {hour.format(event.at)}
          </time>
        </>
      )}
    </div>
  )
}

/** Reads the rest of the log, the newest first, while a search is on. */
function useSearch(
  log: EventLog,
  end: number,
  isSearching: boolean,
): { readonly done: number; readonly error: unknown } {
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    if (!isSearching) return
    let isLeft = false
    const read = async (): Promise<void> => {
      for (let to = end; to > 0 && !isLeft; to -= chunkSize) await log.load(Math.max(1, to - chunkSize + 1), to)
    }
    setError(null)
    read().catch(setError)
    return () => {
      isLeft = true
    }
  }, [log, end, isSearching])
  return { done: Math.min(log.loaded, end), error }
}
