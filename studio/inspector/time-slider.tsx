import { ChevronLeft, ChevronRight, GitFork } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import { useReadOnly } from '../parts/read-only.ts'
import { useKeys } from '../shell/keys.ts'
import type { EventLog } from './event-log.ts'
import { usePlace } from './place.ts'
import { useFork } from './use-fork.ts'
import { useLog } from './use-log.ts'

/** Browsers refuse more than some 200 changes of the address in ten seconds. */
const leastMs = 60
/** Logs of up to so many events have a mark at every turn and answer. */
const mostMarked = 5_000

/** Goes back to any event: 40 px below the transcript. `last`: the newest event. */
export function TimeSlider({ id, last }: { id: string; last: number }) {
  const { at: asked, go } = usePlace()
  const { log } = useLog(id)
  const isFile = useReadOnly()
  const fork = useFork(id)
  const at = asked === null || asked >= last || asked < 1 ? null : asked
  const shown = at ?? last
  const moved = useRef(0)
  const show = (seq: number): void => go({ at: seq >= last ? null : Math.max(1, seq) }, { replace: true })
  useEffect(() => {
    if (last > 0 && last <= mostMarked && log.last >= last) void log.load(1, last).catch(() => {})
  }, [log, last, log.last])
  useKeys(
    useMemo(() => {
      if (at === null) return []
      return [
        { key: 'ArrowLeft', does: 'One event back', run: () => go({ at: Math.max(1, at - 1) }, { replace: true }) },
        {
          key: 'ArrowRight',
          does: 'One event on',
          run: () => go({ at: at + 1 >= last ? null : at + 1 }, { replace: true }),
        },
        { key: 'Escape', does: 'Back to now', run: () => go({ at: null }, { replace: true }) },
      ]
    }, [at, last, go]),
  )
  if (last < 1) return null
  const place = (seq: number): string => `${last === 1 ? 100 : ((seq - 1) / (last - 1)) * 100}%`
  const drag = (event: PointerEvent<HTMLDivElement>, isLast: boolean): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    const now = performance.now()
    if (!isLast && now - moved.current < leastMs) return
    moved.current = now
    show(1 + Math.round(Math.min(1, Math.max(0, (event.clientX - left) / width)) * (last - 1)))
  }
  const press = (event: KeyboardEvent): void => {
    const to = {
      ArrowLeft: shown - 1,
      ArrowDown: shown - 1,
      ArrowRight: shown + 1,
      ArrowUp: shown + 1,
      PageDown: shown - 10,
      PageUp: shown + 10,
      Home: 1,
      End: last,
    }[event.key]
    if (to === undefined) return
    event.preventDefault()
    show(to)
  }
  return (
    <div className="flex h-10 shrink-0 items-center gap-2 border-t px-2 text-soft text-xs max-md:h-12">
      <IconButton words="One event back" Icon={ChevronLeft} disabled={shown <= 1} onClick={() => show(shown - 1)} />
      <div
        role="slider"
        tabIndex={0}
        aria-label="The moment that is shown"
        aria-valuemin={1}
        aria-valuemax={last}
        aria-valuenow={shown}
        aria-valuetext={at === null ? `now, after event ${last}` : `after event ${at} of ${last}`}
        className="relative h-6 min-w-16 grow cursor-pointer touch-none"
        onKeyDown={press}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          drag(event, true)
        }}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && drag(event, false)}
        onPointerUp={(event) => drag(event, true)}
      >
        <span className="absolute inset-x-0 top-1/2 h-px bg-line" />
        <span className="absolute top-1/2 left-0 h-0.5 -translate-y-1/2 bg-faint" style={{ width: place(shown) }} />
        <Marks log={log} last={last} place={place} />
        <span
          className={`absolute top-1/2 size-3 -translate-x-1/2 -translate-y-1/2 rounded-full border-2 border-panel ${at === null ? 'bg-faint' : 'bg-text'}`}
          style={{ left: place(shown) }}
        />
      </div>
      <IconButton words="One event on" Icon={ChevronRight} disabled={at === null} onClick={() => show(shown + 1)} />
      <span className="whitespace-nowrap">
        {at === null ? `${last.toLocaleString()} events` : `at ${at.toLocaleString()} of ${last.toLocaleString()}`}
      </span>
      {at !== null && !isFile && (
        <Button kind="quiet" disabled={fork.isSending} title={fork.error ?? undefined} onClick={() => fork.at(at)}>
          <GitFork className="size-3.5" aria-hidden />
          <span className="max-md:sr-only">{fork.isSending ? 'Forking…' : 'Fork from here'}</span>
        </Button>
      )}
      {fork.error !== null && (
        <span role="alert" className="truncate text-failed">
          {fork.error}
        </span>
      )}
    </div>
  )
}

type MarksProps = { readonly log: EventLog; readonly last: number; place(seq: number): string }

/** Where turns begin and where people answered. */
function Marks({ log, last, place }: MarksProps) {
  const isLoaded = last <= mostMarked && log.between(1, last) !== undefined
  const marks = useMemo(() => (isLoaded ? marksOf(log, last) : []), [log, last, isLoaded])
  return (
    <span aria-hidden>
      {marks.map(({ seq, isAnswer }) => (
        <span
          key={seq}
          className={`absolute top-1/2 -translate-x-1/2 -translate-y-1/2 ${isAnswer ? 'size-2 rounded-full border border-faint bg-panel' : 'h-3 w-0.5 bg-faint'}`}
          style={{ left: place(seq) }}
        />
      ))}
    </span>
  )
}

const mostMarks = 120

function marksOf(log: EventLog, last: number): { readonly seq: number; readonly isAnswer: boolean }[] {
  const found = (log.between(1, last) ?? []).flatMap(({ seq, type }) =>
    type === 'user_msg' || type === 'resolution' ? [{ seq, isAnswer: type === 'resolution' }] : [],
  )
  const every = Math.ceil(found.length / mostMarks)
  return found.filter((_, index) => index % every === 0)
}
