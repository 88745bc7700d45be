import { Bot, Brain, Clock3, Hourglass, Layers, Wrench } from 'lucide-react'
import { type ComponentType, useMemo } from 'react'
import { each } from '../parts/scroller.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { useNow } from '../parts/time.tsx'
import type { Span, SpanKind, TurnSpans } from './spans.ts'
import { length, type TimeScale, timeScale } from './time-scale.ts'

type TurnRowsProps = {
  readonly turn: TurnSpans
  readonly isOpen: boolean
  /** Whether what goes on now is shown, and not a past moment. */
  readonly isNow: boolean
  readonly event: number | null
  select(seq: number): void
  showCall(turnRef: string): void
}

/** A turn: one line, and below it, where it is looked at, a bar for everything that took time. */
export function TurnRows({ turn, isOpen, isNow, event, select, showCall }: TurnRowsProps) {
  const { said, status, supersededAt, spans, marks, from, seq, reason } = turn
  const isGoing = turn.to === null
  const end = useEnd(turn, isGoing && isNow && isOpen)
  const scale = useMemo(() => timeScale(spans, { from, to: end }), [spans, from, end])
  return (
    <section aria-label={`Turn: ${oneLine(said, 60)}`} className="border-b">
      <button
        type="button"
        aria-expanded={isOpen}
        className={`flex min-h-8 w-full items-center gap-2 px-3 py-1 max-md:min-h-11 text-left hover:bg-hover ${event === seq ? 'bg-selected' : ''}`}
        onClick={() => select(seq)}
      >
        <span className={`min-w-0 grow truncate ${supersededAt === undefined ? '' : 'line-through opacity-70'}`}>
          {oneLine(said, 120) || <span className="text-faint">{turn.isCut ? 'began earlier' : 'no text'}</span>}
        </span>
        {supersededAt !== undefined && <span className="text-faint text-xs">replaced</span>}
        <span className="text-xs">
          <Status status={status} />
        </span>
        <span className="w-16 shrink-0 text-right text-faint text-xs">{length(end - from)}</span>
      </button>
      {isOpen && (
        <div className="pb-2">
          {reason !== null && <p className="px-3 pb-1 text-failed text-xs">{oneLine(reason, 300)}</p>}
          {each(spans, (span) => (
            <SpanRow {...{ span, scale, end, select, showCall }} isSelected={event === span.seq && !span.isGap} />
          ))}
          {marks.map(({ seq: place, label, at, isUnknown }) => (
            <button
              key={place}
              type="button"
              className={`grid min-h-6 w-full grid-cols-[104px_1fr_64px] items-center gap-2 px-3 text-left text-xs hover:bg-hover ${event === place ? 'bg-selected' : ''}`}
              onClick={() => select(place)}
            >
              <span className="truncate text-faint">{isUnknown ? `${label} (unknown)` : label}</span>
              <span className="relative h-3">
                <span
                  className="absolute top-0.5 size-2 -translate-x-1/2 rotate-45 bg-faint"
                  style={{ left: `${scale.place(at) * 100}%` }}
                />
              </span>
              <span className="text-right text-faint">#{place.toLocaleString()}</span>
            </button>
          ))}
        </div>
      )}
    </section>
  )
}

/** Where the turn ends: now, while it goes on, or with the last thing that is known of it. */
function useEnd({ to, spans, marks, from }: TurnSpans, isTicking: boolean): number {
  const now = useNow()
  if (to !== null) return to
  if (isTicking) return Math.max(now, from)
  return Math.max(from, ...spans.map((span) => span.to ?? span.from), ...marks.map(({ at }) => at))
}

/** What has ended has no colour; what goes on is blue, or amber where a person is waited for. */
const looks: Readonly<Record<SpanKind, readonly [ComponentType<{ className?: string }>, string]>> = {
  queue: [Layers, 'border border-dashed border-faint'],
  hooks: [Clock3, 'bg-line'],
  model: [Brain, 'bg-faint/40'],
  tool: [Wrench, 'bg-strong'],
  wait: [Hourglass, 'bar-waits'],
  child: [Bot, 'bg-faint/40'],
}

/** A bar without a colour of its own while it goes on. */
const going: Readonly<Partial<Record<SpanKind, string>>> = {
  model: 'bg-running/35',
  tool: 'bg-running',
  child: 'bg-running/35',
}

type SpanRowProps = Pick<TurnRowsProps, 'select' | 'showCall'> & {
  readonly span: Span
  readonly scale: TimeScale
  readonly end: number
  readonly isSelected: boolean
}

function SpanRow({ span, scale, end, isSelected, select, showCall }: SpanRowProps) {
  const { kind, name, from, to, status, firstTokenAt, detail, seq, turnRef } = span
  const [Icon, ended] = looks[kind]
  const look = status === 'failed' ? 'bg-failed' : to === null ? (going[kind] ?? ended) : ended
  const stop = to ?? end
  const left = scale.place(from)
  const width = scale.place(stop) - left
  const isIdle = kind === 'wait' || kind === 'child' || kind === 'queue'
  const fold = isIdle ? scale.folds.find((folded) => folded.from < stop && folded.to > from) : undefined
  const words = [
    `${oneLine(name, 80)}: ${length(stop - from)}`,
    firstTokenAt === undefined ? '' : `first token after ${length(firstTokenAt - from)}`,
    oneLine(detail ?? '', 200),
    status === 'ok' || status === 'running' ? '' : status,
  ].filter(Boolean)
  const isWaiting = kind === 'wait' && to === null
  const colour = status === 'failed' ? 'text-failed' : isWaiting ? 'text-waiting' : 'text-soft'
  return (
    <button
      type="button"
      title={words.join(', ')}
      className={`grid min-h-7 w-full grid-cols-[104px_1fr_64px] items-center gap-2 px-3 text-left text-xs ${isSelected ? 'bg-selected' : 'hover:bg-hover'}`}
      onClick={() => select(seq)}
      onDoubleClick={() => turnRef !== undefined && showCall(turnRef)}
    >
      <span className={`flex min-w-0 items-center gap-1.5 ${colour}`}>
        <Icon className="size-3 shrink-0" />
        <span className="truncate">{oneLine(name, 40)}</span>
        <span className="sr-only">{words.slice(1).join(', ')}</span>
      </span>
      <span className="relative h-4">
        <span
          className={`absolute inset-y-0.5 min-w-0.5 rounded-xs ${look} ${isWaiting ? 'text-waiting' : 'text-faint'} ${status === 'cancelled' || status === 'unknown' ? 'opacity-50' : ''}`}
          style={{ left: `${left * 100}%`, width: `${Math.max(0, width) * 100}%` }}
        />
        {firstTokenAt !== undefined && (
          <span
            className={`absolute inset-y-0.5 rounded-xs ${to === null ? 'bg-running' : 'bg-faint'}`}
            style={{
              left: `${scale.place(firstTokenAt) * 100}%`,
              width: `${(scale.place(stop) - scale.place(firstTokenAt)) * 100}%`,
            }}
          />
        )}
        {kind === 'wait' && detail !== undefined && (
          <span
            aria-hidden
            className={`absolute inset-y-0 truncate leading-4 ${isWaiting ? 'text-waiting' : 'text-faint'}`}
            // On the side that has more room.
            style={
              left > 1 - left - width
                ? { right: `calc(${(1 - left) * 100}% + 6px)`, maxWidth: `${left * 100}%` }
                : { left: `calc(${(left + width) * 100}% + 6px)`, maxWidth: `${(1 - left - width) * 100}%` }
            }
          >
            {oneLine(detail, 80)}
          </span>
        )}
        {fold && (
          // A break in the bar: the wait is drawn shorter than it was.
          <span
            aria-hidden
            className="absolute inset-y-0 w-1 -skew-x-20 border-faint border-x bg-panel"
            style={{ left: `calc(${((fold.start + fold.end) / 2) * 100}% - 2px)` }}
          />
        )}
      </span>
      <span className="truncate text-right text-faint">{length(stop - from)}</span>
    </button>
  )
}
