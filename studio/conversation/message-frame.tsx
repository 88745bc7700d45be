import type { ReactNode } from 'react'
import { Clock } from '../parts/clock.tsx'
import { each } from '../parts/scroller.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { useTranscript } from './transcript-context.ts'

type MessageFrameProps = {
  readonly who: string
  readonly seq?: number
  readonly at?: number
  /** What is special about the message, in a word each. */
  readonly marks?: readonly ReactNode[]
  readonly isWriting?: boolean
  /** The line above is of the same agent in the same turn: its name is not repeated. */
  readonly isContinued?: boolean
  readonly isSelected?: boolean
  /** Buttons that show under the pointer and with the focus. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** Who said it and when, above what was said. */
export function MessageFrame({
  who,
  seq,
  at,
  marks = [],
  isWriting = false,
  isContinued = false,
  isSelected = false,
  actions,
  children,
}: MessageFrameProps) {
  const { select } = useTranscript()
  return (
    <article
      aria-label={`Message from ${oneLine(who, 80)}`}
      aria-busy={isWriting}
      data-seq={seq}
      className={`group/message relative -mx-3 flex flex-col gap-1 rounded-(--radius) px-3 ${isContinued ? 'py-1' : 'pt-3 pb-1'} ${isSelected ? 'bg-selected' : ''}`}
    >
      <header
        className={`flex min-h-5 items-baseline gap-2 text-xs text-faint ${isContinued ? 'absolute top-1 right-3 z-1 rounded-(--radius) bg-panel opacity-0 focus-within:opacity-100 group-hover/message:opacity-100' : ''}`}
      >
        <bdi className={isContinued ? 'sr-only' : 'max-w-60 truncate font-medium text-sm text-text'}>
          {oneLine(who, 80)}
        </bdi>
        {each(marks, (mark) => (typeof mark === 'string' ? <Mark>{mark}</Mark> : mark))}
        <span className="grow" />
        {actions && (
          <span className="-my-3 flex items-center self-center opacity-0 focus-within:opacity-100 group-hover/message:opacity-100 [@media(hover:none)]:opacity-100">
            {actions}
          </span>
        )}
        {at !== undefined && seq !== undefined && (
          <button
            type="button"
            title="Select this event"
            className="hover:text-text max-md:-my-3 max-md:min-h-11 max-md:self-center max-md:pl-2"
            onClick={() => select(seq)}
          >
            <Clock at={at} />
          </button>
        )}
      </header>
      {children}
    </article>
  )
}

function Mark({ children }: { children: ReactNode }) {
  return <span className="whitespace-nowrap rounded-xs bg-hover px-1 text-soft">{children}</span>
}
