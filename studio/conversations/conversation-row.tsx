import { Hourglass, OctagonAlert, Pause } from 'lucide-react'
import type { RemoteRecord } from 'perdure/client'
import { memo, useRef } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { excerpt, oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { Ago } from '../parts/time.tsx'

/** The columns of a row, also of the headings above them. */
export const columns =
  'md:grid-cols-[96px_minmax(0,1fr)_minmax(0,128px)_minmax(0,96px)_56px_72px_56px_64px_48px] gap-x-3 px-4'

type ConversationRowProps = { readonly record: RemoteRecord; readonly isChosen: boolean; readonly isOver: boolean }

/** A conversation in one line; on a phone in two. */
export const ConversationRow = memo(function ConversationRow({ record, isChosen, isOver }: ConversationRowProps) {
  const { id, title, agent, owner, status, lastSeq, tokens, updatedAt, createdAt, problem, paused } = record
  const first = useRef(updatedAt)
  const { lastMessage, waiting = 0 } = record
  const last = lastMessage ? excerpt(lastMessage.text, 160) : ''
  const isChild = record.parent?.callId !== undefined
  // The newest message is of a person, and nothing works on it: its turn failed or was cancelled.
  const isUnanswered = status === 'idle' && lastMessage?.role === 'user'
  return (
    <Link
      href={addresses.conversation(id)}
      aria-current={isChosen ? 'true' : undefined}
      className={`relative grid h-full items-center border-b ${columns} max-md:grid-cols-[1fr_auto] max-md:grid-rows-[20px_20px] max-md:content-center ${isChosen ? 'bg-selected' : 'hover:bg-hover'} ${isOver ? 'opacity-50' : ''}`}
    >
      {first.current !== updatedAt && (
        <span key={updatedAt} aria-hidden className="changed pointer-events-none absolute inset-0 -z-1" />
      )}
      <span className="max-md:col-start-1 max-md:row-start-2 max-md:flex max-md:min-w-0 max-md:gap-2">
        <Status status={isOver ? 'gone' : isUnanswered ? 'unanswered' : status} />
        <span className="min-w-0 truncate text-faint md:hidden">{last}</span>
      </span>
      <span className="flex min-w-0 items-baseline gap-2 max-md:col-start-1 max-md:row-start-1">
        <bdi
          className={`truncate ${last === '' ? '' : 'md:max-w-[60%] md:shrink-0'} ${isChild ? 'text-soft' : title ? 'font-medium' : 'font-mono text-xs'}`}
          title={oneLine(id, 200)}
        >
          {oneLine(title ?? (isChild ? `child of ${shortId(record.parent!.id)}` : id), 160)}
        </bdi>
        {problem && (
          <span title={problem.code} className="inline-flex shrink-0 items-center gap-1 text-failed text-xs">
            <OctagonAlert className="size-3.5 self-center" aria-hidden />
            {problem.code === 'conversation_quarantined'
              ? 'quarantined'
              : problem.code === 'scope_missing'
                ? 'paused'
                : 'problem'}
          </span>
        )}
        {paused && (
          <span className="inline-flex shrink-0 items-center gap-1 text-waiting text-xs">
            <Pause className="size-3.5 self-center" aria-hidden />
            paused
          </span>
        )}
        <span className="min-w-0 truncate text-faint max-md:hidden">{last}</span>
      </span>
      <span className="truncate text-soft max-md:hidden">{agent && oneLine(agent, 60)}</span>
      <bdi className="truncate text-soft max-md:hidden">{owner && oneLine(owner, 60)}</bdi>
      <span className="text-right text-waiting max-md:col-start-2 max-md:row-start-2">
        {waiting > 0 && (
          <span className="inline-flex items-baseline gap-1" title={`${waiting} waiting for an answer`}>
            <Hourglass className="size-3.5 self-center" aria-hidden />
            {waiting.toLocaleString()}
            <span className="sr-only"> waiting</span>
          </span>
        )}
      </span>
      <span
        className="whitespace-nowrap text-right text-faint max-md:hidden"
        title={tokens ? `${tokens.toLocaleString()} tokens in its newest model call` : undefined}
      >
        {tokens?.toLocaleString()}
      </span>
      <span className="whitespace-nowrap text-right text-faint max-md:hidden" title="Events in its log">
        {lastSeq.toLocaleString()}
        <span className="sr-only"> {lastSeq === 1 ? 'event' : 'events'}</span>
      </span>
      <span className="text-right text-faint max-md:col-start-2 max-md:row-start-1">
        <Ago at={updatedAt ?? createdAt} />
      </span>
      <span className="text-right text-faint max-md:hidden">
        <Ago at={createdAt} />
      </span>
    </Link>
  )
})

function shortId(id: string): string {
  return id.length > 24 ? `${id.slice(0, 12)}…${id.slice(-6)}` : id
}
