import {
  AppWindow,
  Bot,
  Check,
  CircleSlash,
  Clock3,
  Loader,
  type LucideIcon,
  MessageCircleQuestionMark,
  ShieldQuestionMark,
  TriangleAlert,
  Workflow,
} from 'lucide-react'
import type { InboxItem } from 'perdure/client'
import { memo, type ReactNode } from 'react'
import { Ago, Until } from '../parts/time.tsx'
import { visible } from '../parts/visible.ts'
import { agentOf } from './filter.ts'
import type { SteadyRow } from './steady-list.ts'
import type { Ended } from './use-answers.ts'
import { headline, kindWords, type Outcome, outcomeWords } from './words.ts'

export type RowProps = {
  readonly row: SteadyRow<InboxItem>
  readonly ended: Ended | undefined
  readonly isCurrent: boolean
  readonly isSelected: boolean
  readonly isSelecting: boolean
  readonly onOpen: (row: SteadyRow<InboxItem>) => void
  readonly onSelect: (row: SteadyRow<InboxItem>) => void
}

/** Two lines of 56 px together: what will happen, then who asks for whom, since when and until when. Or what came of it. */
export const InboxRow = memo(function InboxRow(props: RowProps) {
  const { row, ended, isCurrent, isSelected, isSelecting, onOpen, onSelect } = props
  const { item, isOver } = row
  const isQuiet = isOver || (ended !== undefined && ended.outcome.type !== 'failed' && ended.outcome.type !== 'changed')
  return (
    <li
      data-key={row.key}
      className={`group relative h-14 border-b [contain-intrinsic-size:auto_56px] [content-visibility:auto] ${isCurrent ? 'bg-selected' : 'hover:bg-hover'} ${isSelected ? 'shadow-[inset_2px_0_0_var(--color-strong)]' : ''}`}
    >
      <button
        type="button"
        aria-current={isCurrent ? 'true' : undefined}
        tabIndex={isCurrent ? 0 : -1}
        className={`flex h-full w-full min-w-0 flex-col justify-center gap-0.5 pr-3 pl-10 text-left outline-offset-[-2px]`}
        onClick={() => onOpen(row)}
      >
        <span className="flex w-full min-w-0 items-baseline gap-3">
          <span
            className={`min-w-0 grow truncate ${isQuiet ? 'text-soft line-through decoration-line' : 'font-medium'}`}
          >
            {headline(item)}
          </span>
          <span className="shrink-0 text-xs text-faint">
            <Ago at={item.createdAt} />
          </span>
        </span>
        <span className="flex w-full min-w-0 items-baseline gap-1.5 text-xs text-soft">
          {ended ? <EndedLine ended={ended} /> : isOver ? <span>No longer waiting</span> : <WaitingLine item={item} />}
        </span>
      </button>
      {!isSelecting && <KindIcon kind={item.kind} isQuiet={isQuiet} />}
      {!isOver && !ended && (
        <label
          className={`absolute top-0 left-0 grid h-14 w-10 cursor-pointer place-items-center ${isSelecting ? '' : 'opacity-0 group-hover:opacity-100 has-focus-visible:opacity-100 max-md:opacity-100'}`}
        >
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${headline(item).slice(0, 80)}`}
            className="size-4 accent-strong"
            checked={isSelected}
            onChange={() => onSelect(row)}
          />
        </label>
      )}
    </li>
  )
})

/** The icon and colour of each kind of question. */
export const kinds: Readonly<Record<InboxItem['kind'], readonly [LucideIcon, string]>> = {
  approval: [ShieldQuestionMark, 'text-waiting'],
  elicitation: [MessageCircleQuestionMark, 'text-waiting'],
  client_exec: [AppWindow, 'text-waiting'],
  recovery: [TriangleAlert, 'text-failed'],
  flow: [Workflow, 'text-session'],
  sub_agent: [Bot, 'text-waiting'],
}

/** Where the box to select a row comes under the pointer, so that nothing moves for it. */
function KindIcon({ kind, isQuiet }: { kind: InboxItem['kind']; isQuiet: boolean }) {
  const [Icon, colour] = kinds[kind]
  return (
    <span className="pointer-events-none absolute top-0 left-0 grid h-14 w-10 place-items-center group-hover:opacity-0 max-md:hidden">
      <Icon className={`size-4 ${isQuiet ? 'text-faint' : colour}`} aria-hidden />
    </span>
  )
}

function WaitingLine({ item }: { item: InboxItem }) {
  const { title, conversationId, path, kind, owner, expiresAt, paused } = item
  return (
    <>
      {/* A part that has no room is in the line below, which is not shown: nothing is cut to a letter or two. */}
      <span className="flex h-4.5 min-w-0 grow flex-wrap gap-x-1.5 overflow-hidden">
        <span className={kinds[kind][1]}>{kindWords[kind]}</span>
        <Part>{visible(agentOf(item) || 'unknown agent', 60)}</Part>
        {owner !== null && (
          <Part>
            <span className="sr-only">for </span>
            {visible(owner, 60)}
          </Part>
        )}
        <Part>{visible(title ?? path[0]?.conversationId ?? conversationId, 120)}</Part>
      </span>
      {item.doneBefore && <span className="shrink-0 text-waiting">ran before</span>}
      {paused && <span className="shrink-0 text-waiting">paused</span>}
      {expiresAt !== null && (
        <span className="flex shrink-0 items-baseline gap-1">
          <Clock3 className="size-3 shrink-0 self-center" aria-hidden />
          <span className="sr-only">expires </span>
          <Until at={expiresAt} />
        </span>
      )}
    </>
  )
}

function Part({ children }: { children: ReactNode }) {
  return (
    <span className="flex max-w-[55%] min-w-0 gap-1.5">
      <span className="text-faint" aria-hidden>
        ·
      </span>
      <span className="truncate">{children}</span>
    </span>
  )
}

export function EndedLine({ ended: { outcome, at } }: { ended: Ended }) {
  const when = outcome.type === 'lost' ? (outcome.at ?? at) : at
  return (
    <span role="status" className={`flex min-w-0 items-baseline gap-1.5 ${colourOf(outcome)}`}>
      <OutcomeIcon outcome={outcome} />
      <span className="min-w-0 truncate">{outcomeWords(outcome)}</span>
      {(outcome.type === 'lost' || outcome.type === 'accepted') && (
        <span className="shrink-0 text-faint">
          <Ago at={when} />
        </span>
      )}
    </span>
  )
}

function OutcomeIcon({ outcome }: { outcome: Outcome }) {
  const look = 'size-3.5 shrink-0 self-center'
  if (outcome.type === 'sending') return <Loader className={look} aria-hidden />
  if (outcome.type === 'failed' || outcome.type === 'changed') return <TriangleAlert className={look} aria-hidden />
  if (outcome.did === 'approved' || outcome.did === 'answered') return <Check className={look} aria-hidden />
  return outcome.did === 'expired' ? (
    <Clock3 className={look} aria-hidden />
  ) : (
    <CircleSlash className={look} aria-hidden />
  )
}

function colourOf(outcome: Outcome): string {
  if (outcome.type === 'failed') return 'text-failed'
  if (outcome.type === 'changed') return 'text-waiting'
  if (outcome.type === 'accepted') return outcome.did === 'denied' ? 'text-soft' : 'text-done'
  return 'text-soft'
}
