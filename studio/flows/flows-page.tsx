import { useVirtualizer } from '@tanstack/react-virtual'
import type { RemoteSession, SessionStatus } from 'perdure/client'
import { useClient, useSessions } from 'perdure/react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { MoreRows, useReading } from '../parts/more-rows.tsx'
import { Notice } from '../parts/notice.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { Ago } from '../parts/time.tsx'
import { NoSessions } from './no-sessions.tsx'

const statuses: readonly SessionStatus[] = ['running', 'waiting', 'sleeping', 'dormant', 'done', 'failed']

/** The sessions of flows. The filter is in the address. */
export function FlowsPage() {
  const [search, setSearch] = useSearchParams()
  const flow = search.get('flow') ?? ''
  const status = statuses.find((known) => known === search.get('status'))
  const filter = useMemo(() => ({ ...(flow && { flow }), ...(status && { status }), limit: 100 }), [flow, status])
  const { items, status: listStatus, error, hasMore, loadMore, reload } = useSessions(filter)
  const isFiltered = flow !== '' || status !== undefined
  const choose = (name: string, value: string): void =>
    setSearch(
      (given) => {
        const next = new URLSearchParams(given)
        if (value) next.set(name, value)
        else next.delete(name)
        return next
      },
      { replace: true },
    )
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1.5">
        <h1 className="mr-auto text-base font-medium">Flows</h1>
        <FlowChoice flow={flow} listed={items} onChoose={(value) => choose('flow', value)} />
        <Choice label="Status" value={status ?? ''} all="Any status" onChoose={(value) => choose('status', value)}>
          {statuses}
        </Choice>
      </header>
      <div className="min-h-0 grow">
        {items.length > 0 ? (
          <SessionList sessions={items} hasMore={hasMore} loadMore={loadMore} />
        ) : listStatus === 'loading' ? (
          <Skeleton />
        ) : listStatus === 'refused' || listStatus === 'failed' || listStatus === 'gone' ? (
          <Notice title="The sessions cannot be read.">
            <p>{errorWords(error)}</p>
            <Button onClick={() => void reload()}>Try again</Button>
          </Notice>
        ) : isFiltered ? (
          <Notice title="No session matches this filter.">
            <button type="button" className="link" onClick={() => setSearch({}, { replace: true })}>
              Show all sessions
            </button>
          </Notice>
        ) : (
          <NoSessions />
        )}
      </div>
    </div>
  )
}

/** The flows whose code the server has, and those of old sessions. */
function FlowChoice({
  flow,
  listed,
  onChoose,
}: {
  flow: string
  listed: readonly RemoteSession[]
  onChoose: (flow: string) => void
}) {
  const client = useClient()
  const [known, setKnown] = useState<readonly string[]>([])
  useEffect(() => {
    // Without them, the flows of the sessions on the page can still be chosen.
    client.flows().then(
      (flows) => setKnown(flows.map(({ name }) => name)),
      () => {},
    )
  }, [client])
  const names = [...new Set([...known, ...listed.map((session) => session.flow), ...(flow ? [flow] : [])])].sort()
  return (
    <Choice label="Flow" value={flow} all="Any flow" onChoose={onChoose}>
      {names}
    </Choice>
  )
}

function Choice({
  label,
  value,
  all,
  onChoose,
  children,
}: {
  label: string
  value: string
  all: string
  onChoose: (value: string) => void
  children: readonly string[]
}) {
  return (
    <select
      aria-label={label}
      value={value}
      className={`min-h-8 max-w-48 min-w-0 rounded-(--radius) border bg-panel px-2 max-md:min-h-11 max-md:max-w-[34vw] ${value ? 'text-text' : 'text-soft'}`}
      onChange={(event) => onChoose(event.target.value)}
    >
      <option value="">{all}</option>
      {children.map((option) => (
        <option key={option} value={option}>
          {oneLine(option, 80)}
        </option>
      ))}
    </select>
  )
}

const narrow = matchMedia('(max-width: 767px)')
const rowGrid =
  'grid grid-cols-[104px_minmax(0,1fr)_72px] items-center gap-x-3 px-4 md:grid-cols-[104px_minmax(0,1fr)_minmax(80px,160px)_minmax(60px,140px)_80px_72px]'

function SessionList({
  sessions,
  hasMore,
  loadMore,
}: {
  sessions: readonly RemoteSession[]
  hasMore: boolean
  loadMore: () => Promise<void>
}) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: sessions.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow.matches ? 44 : 32),
    getItemKey: (index) => sessions[index]!.id,
    overscan: 20,
  })
  const shown = virtual.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  const reading = useReading(loadMore)
  const { run } = reading
  useEffect(() => {
    if (hasMore && last >= sessions.length - 20) run()
  }, [hasMore, last, sessions.length, run])
  return (
    <div className="flex h-full flex-col">
      <div className={`${rowGrid} h-8 shrink-0 border-b text-xs text-faint`} aria-hidden>
        <span>Status</span>
        <span>Session</span>
        <span className="max-md:hidden">Flow</span>
        <span className="max-md:hidden">Started by</span>
        <span className="text-right max-md:hidden">Events</span>
        <span className="text-right">Changed</span>
      </div>
      <div ref={scroller} className="min-h-0 grow overflow-y-auto">
        <ul aria-label="Sessions" className="relative" style={{ height: virtual.getTotalSize() }}>
          {shown.map(({ index, key, start }) => (
            <li
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="absolute inset-x-0 h-8 border-b max-md:h-11"
              style={{ transform: `translateY(${start}px)` }}
            >
              <SessionRow session={sessions[index]!} />
            </li>
          ))}
        </ul>
        {hasMore && <MoreRows reading={reading} />}
      </div>
    </div>
  )
}

function SessionRow({ session }: { session: RemoteSession }) {
  const { id, flow, status, title, owner, lastSeq, updatedAt, problem } = session
  return (
    <Link href={addresses.session(flow, id)} className={`${rowGrid} h-full hover:bg-hover`}>
      <Status status={status} />
      <span className="min-w-0 truncate" title={oneLine(id, 400)}>
        <span className={title === null || title === undefined ? 'font-mono text-xs' : ''}>
          {oneLine(title ?? id, 160)}
        </span>
        {problem && <span className="ml-2 text-failed">{problem.code}</span>}
      </span>
      <span className="truncate text-soft max-md:hidden">{oneLine(flow, 80)}</span>
      <span className="truncate text-soft max-md:hidden">{oneLine(owner ?? '', 80)}</span>
      <span className="text-right text-faint max-md:hidden">{lastSeq.toLocaleString()}</span>
      <span className="text-right text-faint">
        <Ago at={updatedAt} />
      </span>
    </Link>
  )
}

function Skeleton() {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-4">
      {['w-3/5', 'w-2/5', 'w-1/2', 'w-1/3'].map((width) => (
        <div key={width} className={`h-4 rounded bg-hover ${width}`} />
      ))}
    </div>
  )
}
