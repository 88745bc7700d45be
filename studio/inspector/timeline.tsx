import type { View } from 'perdure/client'
import { useModelCalls } from 'perdure/react'
import { useMemo, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { callsBefore } from './attempts.ts'
import { EventDetail } from './event-detail.tsx'
import type { PanelProps } from './inspector.tsx'
import { usePlace } from './place.ts'
import { turnSpans, withPhase } from './spans.ts'
import { TurnRows } from './turn-rows.tsx'
import { useLoaded } from './use-loaded.ts'
import { useEvents } from './use-log.ts'

/** How many events are read at first, and with each click for earlier ones. */
const step = 400

/** `view`: that of the moment which is shown. `isNow`: what goes on now is shown, and not a past moment. */
type TimelineProps = PanelProps & { readonly view: View | null; readonly isNow: boolean }

/** The turns of the conversation, newest first; the one that is looked at as a waterfall, to scale. */
export function Timeline({ id, log, end, view, isNow }: TimelineProps) {
  const { event, go } = usePlace()
  const [count, setCount] = useState(step)
  const focus = event ?? end
  const from = Math.max(1, Math.min(end - count + 1, focus - step / 2))
  const loaded = useLoaded(end < 1 || log.between(from, end) ? null : `${id} ${from} ${end}`, () => log.load(from, end))
  const { calls } = useModelCalls(id)
  const events = useEvents(log, from, end)
  const phase = view?.seq === end ? view.phase : null
  const turns = useMemo(() => {
    if (!events) return []
    const until = isNow ? Number.POSITIVE_INFINITY : (events.at(-1)?.at ?? 0)
    return withPhase(turnSpans(events, callsBefore(calls, end), until), phase).reverse()
  }, [events, calls, end, isNow, phase])
  if (loaded.error) {
    return (
      <Notice title="The log cannot be read.">
        <p>{errorWords(loaded.error)}</p>
        <Button onClick={loaded.reload}>Try again</Button>
      </Notice>
    )
  }
  if (end < 1) return <Notice title="Nothing has happened yet." />
  const selected = event === null ? undefined : log.event(event)
  const open = turns.find(({ seq, lastSeq }) => event !== null && seq <= event && event <= lastSeq) ?? turns[0]
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="min-h-0 grow overflow-y-auto" aria-busy={events === undefined}>
        {events === undefined && turns.length === 0 && <p className="p-3 text-faint">Reading the log…</p>}
        {turns.map((turn) => (
          <TurnRows
            key={turn.turnId}
            turn={turn}
            isOpen={turn === open}
            isNow={isNow}
            event={event}
            select={(seq) => go({ event: seq }, { replace: true })}
            showCall={(call) => go({ tab: 'calls', call })}
          />
        ))}
        {from > 1 && (
          <Button kind="quiet" className="m-2" onClick={() => setCount(end - from + 1 + step)}>
            Show earlier turns
          </Button>
        )}
      </div>
      {selected && <EventDetail id={id} event={selected} />}
    </div>
  )
}
