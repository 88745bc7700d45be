import type { InboxItem } from 'perdure/client'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { type InboxFilter, matches, searchOf } from './filter.ts'
import { keyOf } from './item-key.ts'
import { noRows, type SteadyList, steadied } from './steady-list.ts'
import type { Answers } from './use-answers.ts'

export type UsedSteadyList = {
  readonly list: SteadyList<InboxItem>
  /** The pointer is on the list. */
  hold(isHeld: boolean): void
  /** Shows what has come, although the list is held. */
  release(): void
}

/** How long a row that is over waits for the word on what came of it. */
const graceMs = 4_000

type Kept = {
  readonly list: SteadyList<InboxItem>
  readonly filter: string
  /** Since when rows are over. */
  readonly over: ReadonlyMap<string, number>
}

/** The rows of the inbox. They keep their places while the pointer is on them or some are selected. */
export function useSteadyList(
  items: readonly InboxItem[],
  { ended, told }: Pick<Answers, 'ended' | 'told'>,
  filter: InboxFilter,
  isSelecting: boolean,
): UsedSteadyList {
  const [isUnderPointer, setUnderPointer] = useState(false)
  const [kept, setKept] = useState<Kept>({ list: noRows, filter: '', over: new Map() })
  const [, wake] = useState(0)
  const shown = useMemo(() => items.filter((item) => matches(item, filter)), [items, filter])
  const named = searchOf(filter)
  const now = Date.now()
  const isAwaited = (key: string): boolean => !told(key) && now - (kept.over.get(key) ?? now) < graceMs
  const list = steadied(
    // A filter that changes makes another list: the person has asked for it.
    kept.filter === named ? kept.list : noRows,
    { items: shown, keyOf, stays: (key) => ended.has(key) || isAwaited(key), isHeld: isUnderPointer || isSelecting },
  )
  if (list !== kept.list || named !== kept.filter) {
    const over = list.rows.filter(({ isOver }) => isOver).map(({ key }) => [key, kept.over.get(key) ?? now] as const)
    setKept({ list, filter: named, over: new Map(over) })
  }
  const hasAwaited = list.rows.some(({ key, isOver }) => isOver && !ended.has(key))
  useEffect(() => {
    if (!hasAwaited) return
    const timer = setInterval(() => wake((count) => count + 1), graceMs)
    return () => clearInterval(timer)
  }, [hasAwaited])
  const release = useCallback(() => {
    setKept((was) => ({ ...was, list: { rows: [...was.list.arrived, ...was.list.rows], arrived: [] } }))
  }, [])
  return { list, hold: setUnderPointer, release }
}
