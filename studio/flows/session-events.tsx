import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronRight } from 'lucide-react'
import type { Json, LogEvent } from 'perdure/client'
import { useEffect, useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { JsonView } from '../parts/json.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { stepWords } from './step-words.ts'

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })

export type SessionEventsProps = {
  readonly events: readonly LogEvent[]
  readonly selected: number | null
  readonly onSelect: (seq: number | null) => void
  /** Null where nothing can be forked. */
  readonly onFork: ((at: number) => void) | null
}

/** The log of a session; the selected event with its JSON. */
export function SessionEvents({ events, selected, onSelect, onFork }: SessionEventsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 32,
    getItemKey: (index) => events[index]!.seq,
    overscan: 12,
  })
  const index = selected === null ? -1 : events.findIndex(({ seq }) => seq === selected)
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index)
  }, [index, virtual])
  return (
    <div ref={scroller} className="h-full overflow-y-auto">
      <ol aria-label="Events" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const event = events[item.index]!
          const isSelected = event.seq === selected
          return (
            <li
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              className={`absolute inset-x-0 border-b ${isSelected ? 'bg-selected' : ''}`}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <button
                type="button"
                aria-expanded={isSelected}
                className={`grid min-h-8 w-full grid-cols-[14px_32px_minmax(0,1fr)_auto] items-center gap-x-2 px-3 text-left max-lg:px-4 max-md:min-h-11 ${isSelected ? '' : 'hover:bg-hover'}`}
                onClick={() => onSelect(isSelected ? null : event.seq)}
              >
                <ChevronRight className={`size-3.5 text-faint ${isSelected ? 'rotate-90' : ''}`} aria-hidden />
                <span className="text-faint">{event.seq}</span>
                <span className="truncate">{eventWords(event, events)}</span>
                <time className="text-faint" dateTime={new Date(event.at).toISOString()}>
                  {clock.format(event.at)}
                </time>
              </button>
              {isSelected && (
                <div className="flex flex-col gap-2 px-3 pb-3">
                  <JsonView value={event.content as unknown as Json} />
                  {onFork && (
                    <Button className="self-start" onClick={() => onFork(event.seq)}>
                      Fork from here
                    </Button>
                  )}
                </div>
              )}
            </li>
          )
        })}
      </ol>
    </div>
  )
}

function eventWords(event: LogEvent, events: readonly LogEvent[]): string {
  switch (event.type) {
    case 'flow_started':
      return `Started by ${oneLine(event.content.who, 60)}, version ${oneLine(event.content.version, 20)}`
    case 'flow_opened':
      return stepWords(event.content.op)
    case 'flow_outcome': {
      const { position, who } = event.content
      const opened = events.findLast(
        (other) => other.seq < event.seq && other.type === 'flow_opened' && other.content.position === position,
      )
      const step = opened?.type === 'flow_opened' ? stepWords(opened.content.op) : `Step ${position}`
      const end = event.content.ok ? (who === undefined ? 'Done' : 'Answered') : 'Failed'
      return `${end}${who === undefined ? '' : ` by ${oneLine(who, 60)}`}: ${step}`
    }
    case 'flow_continued':
      return `Continued with a fresh record, version ${oneLine(event.content.version, 20)}`
    case 'flow_ended':
      return event.content.status === 'done' ? 'Ended' : 'Failed'
    default:
      return oneLine(event.type, 60)
  }
}
