import type { InboxItem } from 'perdure/client'
import { type InboxAnswer, useInbox } from 'perdure/react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { visible } from '../parts/visible.ts'
import { useTitle } from '../shell/title.ts'
import { EmptyInbox } from './empty-inbox.tsx'
import { agentOf, distinct, filterIn, type InboxFilter, isFiltering, searchOf } from './filter.ts'
import { InboxList } from './inbox-list.tsx'
import { ItemDetail } from './item-detail.tsx'
import { keyOf } from './item-key.ts'
import { ManyPanel } from './many-panel.tsx'
import { ManyResults } from './many-results.tsx'
import { nextWaiting, type SteadyRow, stepFrom } from './steady-list.ts'
import { useAnswers } from './use-answers.ts'
import { useInboxKeys } from './use-inbox-keys.ts'
import { useNamedItem } from './use-named-item.ts'
import { useSteadyList } from './use-steady-list.ts'
import { headline } from './words.ts'

/** How many answers are on their way at once. */
const atOnce = 6

/** Everything that waits for a person, and the one that is looked at. */
export function InboxPage({ callId }: { callId: string | undefined }) {
  const inbox = useInbox()
  const answers = useAnswers(inbox)
  const search = useSearch()
  // As it is written: what the router gives is decoded in part.
  const filter = useMemo(() => filterIn(search && location.search), [search])
  const [, navigate] = useLocation()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [sent, setSent] = useState<readonly InboxItem[] | null>(null)
  // On a phone, where the list and its detail are never side by side.
  const [isReviewing, setReviewing] = useState(false)
  const filterRef = useRef<HTMLInputElement>(null)
  const { list, hold, release } = useSteadyList(inbox.items, answers, filter, selected.size > 0 || sent !== null)
  const { row, isAwaited } = useNamedItem(inbox, list.rows, callId)

  const go = useCallback(
    (to: string | null, replace = false) => {
      const target = list.rows.find(({ key }) => key === to)?.item.callId
      navigate(addresses.inbox(target) + searchOf(filter), { replace })
    },
    [list, navigate, filter],
  )
  const open = useCallback(
    ({ key }: SteadyRow<InboxItem>) => {
      setSent(null)
      setSelected(new Set())
      go(key)
    },
    [go],
  )
  const select = useCallback((chosen: SteadyRow<InboxItem>) => {
    setSelected((was) => {
      const next = new Set(was)
      if (!next.delete(chosen.key)) next.add(chosen.key)
      return next
    })
  }, [])
  const answerOne = async (item: InboxItem, given: InboxAnswer): Promise<void> => {
    const next = nextWaiting(list.rows, keyOf(item))
    const outcome = await answers.answer(item, given)
    // Only while the person is still there: they may have gone on by themselves.
    if (outcome.type === 'accepted' && location.pathname.endsWith(addresses.inbox(item.callId))) go(next, true)
  }
  const answerMany = async (items: readonly InboxItem[], given: InboxAnswer): Promise<void> => {
    setSelected(new Set())
    setSent(items)
    const rest = [...items]
    const work = async (): Promise<void> => {
      for (let item = rest.shift(); item; item = rest.shift()) await answers.answer(item, given, { isKept: true })
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }
  const done = (): void => {
    answers.forget(sent?.map(keyOf) ?? [])
    setSent(null)
    setSelected(new Set())
    setReviewing(false)
  }
  useInboxKeys({
    step: (steps) => go(stepFrom(list.rows, row?.key ?? null, steps)),
    select: () => row && !row.isOver && select(row),
    selectAll: () =>
      setSelected(
        new Set(list.rows.filter(({ isOver, key }) => !isOver && !answers.ended.has(key)).map(({ key }) => key)),
      ),
    leave: () => (sent || selected.size > 0 ? done() : undefined),
    showNew: release,
    filter: () => filterRef.current?.focus(),
    focusDetail,
  })
  useTitle(row ? headline(row.item).slice(0, 60) : 'Inbox')
  useFirstRow(
    row?.key ?? null,
    callId,
    list.rows.find(({ isOver, key }) => !isOver && !answers.ended.has(key))?.key ?? null,
    go,
  )

  const chosen = useMemo(
    () => list.rows.filter(({ key, isOver }) => selected.has(key) && !isOver).map(({ item }) => item),
    [list, selected],
  )
  const isEmpty = list.rows.length === 0 && !isFiltering(filter)
  const wasRead = inbox.status === 'live' || inbox.status === 'reconnecting'
  if (isEmpty && !wasRead) return <NotYet inbox={inbox} />
  if (isEmpty && !sent) return <EmptyInbox />
  const isSelecting = chosen.length > 0
  const hasDetail = isSelecting ? isReviewing : callId !== undefined || sent !== null
  return (
    <div className="flex h-full min-h-0">
      {/* On a phone the list is hidden, and its heading with it. */}
      {hasDetail && <h1 className="sr-only md:hidden">Inbox</h1>}
      <div
        className={`flex min-h-0 w-90 shrink-0 flex-col border-r max-lg:w-80 max-md:w-full max-md:border-r-0 ${hasDetail ? 'max-md:hidden' : ''}`}
      >
        <InboxList
          inbox={inbox}
          list={list}
          answers={answers}
          current={row?.key ?? null}
          selected={selected}
          filter={filter}
          agents={distinct(inbox.items, agentOf)}
          tools={distinct(inbox.items, ({ tool }) => tool)}
          filterRef={filterRef}
          onFilter={(next: InboxFilter) => navigate(addresses.inbox(callId) + searchOf(next), { replace: true })}
          onHold={hold}
          onRelease={release}
          onOpen={open}
          onSelect={select}
        />
        {isSelecting && (
          <div className="flex shrink-0 items-center gap-2 border-t bg-panel p-3 md:hidden">
            <span className="grow">{chosen.length.toLocaleString()} selected</span>
            <Button kind="quiet" onClick={done}>
              Clear
            </Button>
            <Button kind="main" onClick={() => setReviewing(true)}>
              Answer them…
            </Button>
          </div>
        )}
      </div>
      <div className={`min-h-0 min-w-0 grow ${hasDetail ? '' : 'max-md:hidden'}`}>
        {isSelecting ? (
          <ManyPanel
            items={chosen}
            onAnswer={(items, given) => void answerMany(items, given)}
            onClear={done}
            onBack={() => setReviewing(false)}
          />
        ) : sent ? (
          <ManyResults items={sent} answers={answers} onDone={done} />
        ) : row ? (
          <ItemDetail
            item={row.item}
            ended={answers.ended.get(row.key)}
            isOver={row.isOver}
            backTo={addresses.inbox() + searchOf(filter)}
            onAnswer={(item, given) => void answerOne(item, given)}
            onNext={() => go(nextWaiting(list.rows, row.key))}
          />
        ) : isAwaited ? (
          <p role="status" className="p-5 text-faint">
            Looking for it…
          </p>
        ) : callId !== undefined && wasRead ? (
          <Notice title="This is not waiting for an answer.">
            <p>It has been answered, has expired, or you may not see it.</p>
            <Button onClick={() => go(list.rows[0]?.key ?? null)}>Show what waits</Button>
          </Notice>
        ) : null}
      </div>
    </div>
  )
}

/** The first field, or the item itself: never a button, which the same key would press. */
function focusDetail(): void {
  const article = document.querySelector<HTMLElement>('article')
  const field = article?.querySelector<HTMLElement>('form :is(input, textarea, select):enabled')
  ;(field ?? article)?.focus()
}

/** Where there is room for a detail, the first row is shown when none is named. */
function useFirstRow(
  current: string | null,
  callId: string | undefined,
  first: string | null,
  go: (key: string | null, replace?: boolean) => void,
): void {
  useEffect(() => {
    if (current === null && callId === undefined && first !== null && matchMedia('(min-width: 768px)').matches)
      go(first, true)
  }, [current, callId, first, go])
}

function NotYet({ inbox }: { inbox: ReturnType<typeof useInbox> }) {
  const message = inbox.error instanceof Error ? visible(inbox.error.message, 300) : ''
  if (inbox.status === 'refused' || inbox.status === 'gone')
    return (
      <Notice title="You may not see this inbox.">
        <p>The server does not recognise you, or you lack permission. Sign in again.</p>
      </Notice>
    )
  if (inbox.status === 'failed')
    return (
      <Notice title="The inbox could not be loaded.">
        <p>{message}</p>
        <Button onClick={() => void inbox.reload()}>Try again</Button>
      </Notice>
    )
  return (
    <div aria-busy className="flex h-full">
      <div className="w-90 border-r max-md:w-full">
        <p role="status" className="sr-only">
          Loading the inbox
        </p>
        <div className="h-12 border-b" />
        {['a', 'b', 'c', 'd', 'e'].map((name) => (
          <div key={name} className="flex h-14 flex-col justify-center gap-2 border-b px-4">
            <div className="h-3 w-2/3 rounded bg-hover" />
            <div className="h-2.5 w-1/2 rounded bg-hover" />
          </div>
        ))}
      </div>
    </div>
  )
}
