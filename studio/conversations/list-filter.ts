import type { ConversationsFilter } from 'perdure/react'
import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'

/** What a list is narrowed to. All of it is in the address. */
export type ListFilter = { readonly [Name in FilterName]: string }

const names = ['text', 'status', 'agent', 'owner'] as const
export type FilterName = (typeof names)[number]

export const statuses = ['active', 'waiting', 'idle', 'ended', 'failed'] as const

/** Pages of the list: the most that the server gives at once. */
const perPage = 200

export function useListFilter(): readonly [ListFilter, (change: Partial<ListFilter>) => void] {
  const [search, setSearch] = useSearchParams()
  const filter = useMemo(() => readFilter(search), [search])
  const change = useCallback(
    (changed: Partial<ListFilter>) => setSearch((was) => withFilter(was, changed), { replace: true }),
    [setSearch],
  )
  return [filter, change]
}

/** The filter in an address. Pure. */
export function readFilter(search: URLSearchParams): ListFilter {
  const read = (name: FilterName): string => (search.get(name) ?? '').slice(0, 200)
  const status = read('status')
  const isStatus = (statuses as readonly string[]).includes(status)
  return { text: read('text'), status: isStatus ? status : '', agent: read('agent'), owner: read('owner') }
}

export function withFilter(search: URLSearchParams, changed: Partial<ListFilter>): URLSearchParams {
  const next = new URLSearchParams(search)
  for (const [name, value] of Object.entries(changed)) {
    if (value === '') next.delete(name)
    else next.set(name, value)
  }
  return next
}

/** The filter as the server takes it. */
export function asked(filter: ListFilter): ConversationsFilter {
  const given = names.flatMap((name) => (filter[name].trim() === '' ? [] : [[name, filter[name].trim()] as const]))
  return { kind: 'conversation', limit: perPage, ...Object.fromEntries(given) }
}

export function isNarrowed(filter: ListFilter): boolean {
  return names.some((name) => filter[name] !== '')
}
