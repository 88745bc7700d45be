import { Ban, OctagonX, RotateCcw, StickyNote, TriangleAlert } from 'lucide-react'
import type { ComponentType, ReactNode } from 'react'
import { Button } from '../parts/button.tsx'
import { JsonView } from '../parts/json.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Fold } from './fold.tsx'
import type { Note, Turn } from './rows.ts'
import { useTranscript } from './transcript-context.ts'

/** A line between messages: something that happened to the conversation. */
function MarkLine({
  Icon,
  seq,
  colour = 'text-soft',
  children,
}: {
  Icon: ComponentType<{ className?: string }>
  seq: number
  colour?: string
  children: ReactNode
}) {
  const { event } = useTranscript()
  return (
    <div
      data-seq={seq}
      className={`-mx-3 flex items-start gap-2 rounded-(--radius) px-3 py-1 ${colour} ${event === seq ? 'bg-selected' : ''}`}
    >
      <Icon className="mt-0.75 size-3.5 shrink-0" />
      <div className="flex min-w-0 grow flex-wrap items-center gap-x-2">{children}</div>
    </div>
  )
}

/** Why a turn ended, where its answer does not say it. */
export function EndLine({ turn, isNewest }: { turn: Turn; isNewest: boolean }) {
  const { actions } = useTranscript()
  const { end, cancel, discarded, turnId } = turn
  if (!end) return null
  const [Icon, colour, words] = endLooks[end.status]
  const retry = isNewest ? actions?.retry : null
  return (
    <MarkLine Icon={Icon} colour={colour} seq={end.seq}>
      <span>
        {words}
        {end.status === 'cancelled' && cancel && (
          <>
            {' '}
            by <bdi>{oneLine(cancel.who, 80)}</bdi>
          </>
        )}
        {end.reason && <>: {oneLine(end.reason, 600)}</>}
        {discarded && (
          <span className="text-soft">
            {' '}
            {discarded.attempts === 1
              ? 'One attempt broke off and was retried.'
              : `${discarded.attempts.toLocaleString()} attempts broke off and were retried.`}
          </span>
        )}
      </span>
      {retry && (
        <Button kind="plain" className="text-text" onClick={() => retry(turnId)}>
          <RotateCcw className="size-3.5" aria-hidden /> Retry
        </Button>
      )}
    </MarkLine>
  )
}

const endLooks = {
  completed: [RotateCcw, 'text-soft', 'Completed'],
  cancelled: [Ban, 'text-soft', 'Cancelled'],
  failed: [TriangleAlert, 'text-failed', 'Failed'],
  halted: [OctagonX, 'text-soft', 'Halted'],
} as const

/** A message that a hook sent back: not part of what was said. */
export function RegeneratedLine({ seq, feedback }: { seq: number; feedback: string }) {
  return (
    <MarkLine Icon={RotateCcw} seq={seq}>
      <span>Written again: {oneLine(feedback, 400)}</span>
    </MarkLine>
  )
}

/** A fact that the application keeps in the log. */
export function NoteLine({ note: { name, data, who, seq } }: { note: Note }) {
  return (
    <MarkLine Icon={StickyNote} seq={seq}>
      <div className="min-w-0 grow">
        <Fold name={name} words={`note of ${oneLine(who, 80)}`}>
          <JsonView value={data} />
        </Fold>
      </div>
    </MarkLine>
  )
}

/** The end of what this version can read. */
export function UnknownLine({ eventType, seq }: { eventType: string; seq: number }) {
  return (
    <MarkLine Icon={TriangleAlert} seq={seq} colour="text-waiting">
      <span>
        Read-only from here: the log goes on with an event of type <code>{oneLine(eventType, 80)}</code>, which this
        version does not know. Update the server.
      </span>
    </MarkLine>
  )
}
