import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { Tab } from '../addresses.ts'

const tabs: readonly Tab[] = ['timeline', 'log', 'state', 'calls', 'forks']

/** What a person looks at in a conversation. All of it is in the address. */
export type Place = {
  /** The moment that is shown: the last event of it. Null: now. */
  readonly at: number | null
  /** The event that is selected in every pane. */
  readonly event: number | null
  readonly tab: Tab
  /** Null takes a part out of the address. Steps of the slider replace the entry in the browser's history; others add one. */
  go(change: PlaceChange, how?: { readonly replace?: boolean }): void
}

export type PlaceChange = {
  readonly [Part in 'at' | 'event' | 'tab' | 'call' | 'with' | 'find']?: string | number | null
}

export function usePlace(): Place {
  const [search, setSearch] = useSearchParams()
  return useMemo(
    () => ({
      at: wholeNumber(search.get('at')),
      event: wholeNumber(search.get('event')),
      tab: tabs.find((tab) => tab === search.get('tab')) ?? 'timeline',
      go: (change, { replace = false } = {}) => setSearch((was) => withChange(was, change), { replace }),
    }),
    [search, setSearch],
  )
}

/** The address with other parts. Pure. */
function withChange(search: URLSearchParams, change: PlaceChange): URLSearchParams {
  const next = new URLSearchParams(search)
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === undefined) next.delete(name)
    else next.set(name, String(value))
  }
  return next
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}
