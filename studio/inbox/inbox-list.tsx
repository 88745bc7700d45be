import { ArrowUp, X } from 'lucide-react'
import type { InboxItem } from 'perdure/client'
import type { UsedInbox } from 'perdure/react'
import { type RefObject, useEffect, useRef } from 'react'
import { errorWords } from '../parts/error-words.ts'
import { useReading } from '../parts/more-rows.tsx'
import { visible } from '../parts/visible.ts'
import { type InboxFilter, isFiltering } from './filter.ts'
import { InboxRow } from './inbox-row.tsx'
import type { SteadyList, SteadyRow } from './steady-list.ts'
import type { Answers } from './use-answers.ts'

export type InboxListProps = {
  readonly inbox: UsedInbox
  readonly list: SteadyList<InboxItem>
  readonly answers: Answers
  readonly current: string | null
  readonly selected: ReadonlySet<string>
  readonly filter: InboxFilter
  readonly agents: readonly string[]
  readonly tools: readonly string[]
  readonly filterRef: RefObject<HTMLInputElement | null>
  readonly onFilter: (filter: InboxFilter) => void
  readonly onHold: (isHeld: boolean) => void
  readonly onRelease: () => void
  readonly onOpen: (row: SteadyRow<InboxItem>) => void
  readonly onSelect: (row: SteadyRow<InboxItem>) => void
}

/** What waits, the newest first. */
export function InboxList(props: InboxListProps) {
  const { inbox, list, answers, current, selected, onHold, onRelease, onOpen, onSelect } = props
  const waiting = list.rows.filter(({ isOver }) => !isOver).length + list.arrived.length
  const scroller = useRef<HTMLDivElement>(null)
  const more = useReading(inbox.loadMore)
  useEffect(() => {
    if (current === null) return
    const row = scroller.current?.querySelector(`[data-key="${CSS.escape(current)}"]`)
    row?.scrollIntoView({ block: 'nearest' })
  }, [current])
  return (
    <section aria-label="What waits" className="flex min-h-0 grow flex-col">
      <header className="flex h-12 shrink-0 items-center gap-2 border-b px-4">
        <h1 className="text-base font-medium">Inbox</h1>
        <span className="text-soft" role="status">
          {waiting.toLocaleString()}
          {inbox.hasMore && '+'}
          <span className="sr-only"> waiting</span>
        </span>
        {inbox.status === 'reconnecting' && <span className="text-xs text-waiting">not up to date</span>}
        {list.arrived.length > 0 && (
          <button
            type="button"
            // Not above the rows: it would move them.
            className="ml-auto inline-flex min-h-7 items-center gap-1 rounded-(--radius) bg-waiting-soft px-2 text-waiting hover:underline max-md:min-h-11"
            onClick={onRelease}
          >
            <ArrowUp className="size-3.5" aria-hidden />
            {list.arrived.length.toLocaleString()} new
          </button>
        )}
      </header>
      <Filters {...props} />
      <div
        ref={scroller}
        className="min-h-0 grow overflow-y-auto overscroll-contain"
        onPointerEnter={(event) => event.pointerType === 'mouse' && onHold(true)}
        onPointerLeave={() => onHold(false)}
      >
        <ul aria-label="Waiting" data-page-enter={current === null ? undefined : ''}>
          {list.rows.map((row) => (
            <InboxRow
              key={row.key}
              row={row}
              ended={answers.ended.get(row.key)}
              isCurrent={row.key === current}
              isSelected={selected.has(row.key)}
              isSelecting={selected.size > 0}
              onOpen={onOpen}
              onSelect={onSelect}
            />
          ))}
        </ul>
        {inbox.hasMore && (
          <button type="button" className="min-h-11 w-full px-4 link" onClick={more.run}>
            {more.error === null ? 'Show more' : `${errorWords(more.error)} Try again`}
          </button>
        )}
        {list.rows.length === 0 && isFiltering(props.filter) && (
          <p className="p-6 text-center text-soft">
            {inbox.hasMore
              ? `None of the ${inbox.items.length.toLocaleString()} newest matches the filter.`
              : 'Nothing that waits matches the filter.'}
          </p>
        )}
      </div>
    </section>
  )
}

function Filters({ filter, agents, tools, filterRef, onFilter }: InboxListProps) {
  return (
    <div className="flex shrink-0 items-center gap-1.5 border-b px-3 py-1.5">
      <input
        ref={filterRef}
        type="search"
        aria-label="Filter"
        placeholder="Filter"
        maxLength={200}
        className="h-7 min-w-0 grow basis-24 rounded-(--radius) bg-transparent px-1 placeholder:text-faint max-md:h-11 max-md:text-base"
        value={filter.text}
        onChange={(event) => onFilter({ ...filter, text: event.target.value })}
        onKeyDown={(event) => {
          if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur()
        }}
      />
      <Choose
        label="Agent"
        all="All agents"
        options={agents}
        value={filter.agent}
        onChoose={(agent) => onFilter({ ...filter, agent })}
      />
      <Choose
        label="Tool"
        all="All tools"
        options={tools}
        value={filter.tool}
        onChoose={(tool) => onFilter({ ...filter, tool })}
      />
      {isFiltering(filter) && (
        <button
          type="button"
          aria-label="Clear the filter"
          title="Clear the filter"
          className="grid size-7 shrink-0 place-items-center rounded-(--radius) text-soft hover:bg-hover max-md:size-11"
          onClick={() => onFilter({ text: '', agent: '', tool: '' })}
        >
          <X className="size-4" aria-hidden />
        </button>
      )}
    </div>
  )
}

type ChooseProps = {
  label: string
  all: string
  options: readonly string[]
  value: string
  onChoose: (value: string) => void
}

/** Only where there is something to choose from. */
function Choose({ label, all, options, value, onChoose }: ChooseProps) {
  const shown = value === '' || options.includes(value) ? options : [value, ...options]
  if (shown.length < 2 && value === '') return null
  return (
    <select
      aria-label={label}
      className="h-7 max-w-26 min-w-0 shrink truncate [field-sizing:content] rounded-(--radius) bg-transparent text-soft max-md:h-11"
      value={value}
      onChange={(event) => onChoose(event.target.value)}
    >
      <option value="">{all}</option>
      {shown.map((option) => (
        <option key={option} value={option}>
          {visible(option, 60)}
        </option>
      ))}
    </select>
  )
}
