import { Search } from 'lucide-react'
import type { RemoteRecord } from 'perdure/client'
import { type RefObject, useEffect, useId, useMemo, useRef, useState } from 'react'
import { type Key, useKeys } from '../shell/keys.ts'
import { isNarrowed, type ListFilter, statuses } from './list-filter.ts'

type FilterBarProps = {
  readonly filter: ListFilter
  onChange(change: Partial<ListFilter>): void
  /** Their agents and owners are suggested. */
  readonly items: readonly RemoteRecord[]
  readonly count: number
  readonly isMore: boolean
}

const typingMs = 200
const statusWords: Readonly<Record<string, string>> = { active: 'running' }

/** What the list is narrowed to: text, status, agent, owner. */
export function FilterBar({ filter, onChange, items, count, isMore }: FilterBarProps) {
  const search = useRef<HTMLInputElement>(null)
  const keys = useMemo<readonly Key[]>(
    () => [{ key: '/', does: 'Search in this list', run: () => search.current?.focus() }],
    [],
  )
  useKeys(keys)
  const agents = useMemo(() => suggested(items, 'agent'), [items])
  const owners = useMemo(() => suggested(items, 'owner'), [items])
  return (
    <search className="flex shrink-0 flex-wrap items-center gap-2 border-b px-4 py-2 max-md:px-2">
      <div className="flex min-h-8 min-w-50 grow items-center gap-2 rounded-(--radius) border px-2 focus-within:border-accent max-md:min-h-11 md:max-w-90">
        <Search className="size-3.5 shrink-0 text-faint" aria-hidden />
        <Typed
          field={search}
          label="Search titles and ids"
          value={filter.text}
          onChange={(text) => onChange({ text })}
          className="min-w-0 grow bg-transparent outline-none"
        />
      </div>
      <select
        aria-label="Status"
        value={filter.status}
        className={`min-h-8 rounded-(--radius) border bg-panel px-2 max-md:min-h-11 ${filter.status === '' ? 'text-soft' : ''}`}
        onChange={(event) => onChange({ status: event.currentTarget.value })}
      >
        <option value="">any status</option>
        {statuses.map((status) => (
          <option key={status} value={status}>
            {statusWords[status] ?? status}
          </option>
        ))}
      </select>
      <Suggested label="Agent" value={filter.agent} values={agents} onChange={(agent) => onChange({ agent })} />
      <Suggested label="Owner" value={filter.owner} values={owners} onChange={(owner) => onChange({ owner })} />
      {isNarrowed(filter) && (
        <button
          type="button"
          className="min-h-8 px-1 link max-md:min-h-11"
          onClick={() => onChange({ text: '', status: '', agent: '', owner: '' })}
        >
          Clear
        </button>
      )}
      <span role="status" className="ml-auto whitespace-nowrap text-faint max-md:hidden">
        {count.toLocaleString()}
        {isMore && '+'} {count === 1 ? 'conversation' : 'conversations'}
      </span>
    </search>
  )
}

type SuggestedProps = {
  readonly label: string
  readonly value: string
  readonly values: readonly string[]
  onChange(value: string): void
}

function Suggested({ label, value, values, onChange }: SuggestedProps) {
  const name = useId()
  return (
    <>
      <Typed
        label={label}
        value={value}
        list={name}
        onChange={onChange}
        className="min-h-8 w-28 rounded-(--radius) border bg-panel px-2 max-md:min-h-11 max-md:grow"
      />
      <datalist id={name}>
        {values.map((suggestion) => (
          <option key={suggestion} value={suggestion} />
        ))}
      </datalist>
    </>
  )
}

type TypedProps = {
  readonly label: string
  readonly value: string
  readonly className: string
  readonly list?: string
  readonly field?: RefObject<HTMLInputElement | null>
  onChange(value: string): void
}

/** A field whose value counts when typing pauses, so that not every letter is a request. */
function Typed({ label, value, className, list, field, onChange }: TypedProps) {
  const [typed, setTyped] = useState<string | null>(null)
  // A list that changes renders this anew: that must not begin the pause again.
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => {
    if (typed === null) return
    const timer = setTimeout(() => {
      latest.current(typed)
      setTyped(null)
    }, typingMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      ref={field}
      type="search"
      aria-label={label}
      placeholder={label}
      value={typed ?? value}
      list={list}
      maxLength={200}
      autoComplete="off"
      spellCheck={false}
      className={`placeholder:text-faint ${className}`}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.blur()
      }}
    />
  )
}

const mostSuggested = 50

function suggested(items: readonly RemoteRecord[], name: 'agent' | 'owner'): string[] {
  const found = new Set<string>()
  for (const item of items) {
    const value = item[name]
    if (value) found.add(value)
    if (found.size >= mostSuggested) break
  }
  return [...found].toSorted()
}
