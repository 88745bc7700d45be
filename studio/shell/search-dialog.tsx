import { Search } from 'lucide-react'
import { type Client, PerdureError } from 'perdure/client'
import { useClient } from 'perdure/react'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { addresses } from '../addresses.ts'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { Ago } from '../parts/time.tsx'
import { Dialog } from './dialog.tsx'

type FoundRow = {
  readonly id: string
  readonly title: string | null
  readonly status: string
  readonly updatedAt: number
  readonly address: string
}

type Found =
  | { readonly text: string; readonly rows: readonly FoundRow[] }
  | { readonly text: string; readonly error: string }

/** How long a person has to stop typing before the server is asked. */
const pauseMs = 120

/** Finds conversations and sessions by a part of their title or id. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const found = useFound(text.trim())
  const [, navigate] = useLocation()
  const listId = useId()
  const rows = found && 'rows' in found ? found.rows : []
  const open = (row: FoundRow | undefined): void => {
    if (!row) return
    onClose()
    navigate(row.address)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setChosen((at) => Math.min(Math.max(at + step, 0), Math.max(rows.length - 1, 0)))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(rows[chosen])
    }
  }
  return (
    <Dialog label="Search" onClose={onClose} className="mt-[12dvh]">
      <div className="flex items-center gap-2 border-b px-4">
        <Search className="size-4 shrink-0 text-faint" aria-hidden />
        <input
          data-autofocus
          type="search"
          role="combobox"
          aria-label="Title or id"
          aria-expanded={rows.length > 0}
          aria-controls={listId}
          aria-activedescendant={rows.length > 0 ? `${listId}-${chosen}` : undefined}
          placeholder="Title or id of a conversation or session"
          maxLength={200}
          className="h-11 min-w-0 grow bg-transparent outline-none"
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setChosen(0)
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={listId} role="listbox" aria-label="Found" className="min-h-0 overflow-y-auto p-1 empty:p-0">
        {rows.map((row, index) => (
          <Row key={row.id} id={`${listId}-${index}`} row={row} isChosen={index === chosen} onOpen={() => open(row)} />
        ))}
      </div>
      <p role="status" className="px-4 py-2 text-xs text-faint empty:hidden">
        {hint(text.trim(), found)}
      </p>
    </Dialog>
  )
}

function Row({ id, row, isChosen, onOpen }: { id: string; row: FoundRow; isChosen: boolean; onOpen: () => void }) {
  return (
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      tabIndex={-1}
      ref={(element) => {
        if (isChosen) element?.scrollIntoView({ block: 'nearest' })
      }}
      className={`flex min-h-9 cursor-pointer items-center gap-3 rounded-(--radius) px-3 max-md:min-h-11 ${isChosen ? 'bg-selected' : 'hover:bg-hover'}`}
      onClick={onOpen}
      onKeyDown={() => {}}
    >
      <span className="min-w-0 grow truncate">
        {oneLine(row.title ?? row.id, 160)}
        {row.title !== null && <span className="ml-2 font-mono text-xs text-faint">{oneLine(row.id, 80)}</span>}
      </span>
      <Status status={row.status} />
      <span className="w-14 shrink-0 text-right text-faint max-md:hidden">
        <Ago at={row.updatedAt} />
      </span>
    </div>
  )
}

function hint(text: string, found: Found | null): string {
  if (text === '') return 'Enter opens, Esc closes.'
  if (!found) return ''
  if ('error' in found) return found.error
  return found.rows.length === 0 ? `Nothing has “${oneLine(found.text, 80)}” in its title or id.` : ''
}

/** What the server found last stays until it has found something else. */
function useFound(text: string): Found | null {
  const client = useClient()
  const [found, setFound] = useState<Found | null>(null)
  useEffect(() => {
    if (text === '') return setFound(null)
    let isOld = false
    const search = async (): Promise<void> => {
      const result = await rowsWith(client, text).then(
        (rows): Found => ({ text, rows }),
        (error: unknown): Found => {
          if (!PerdureError.isInstance(error)) throw error
          return { text, error: oneLine(error.message, 400) }
        },
      )
      if (!isOld) setFound(result)
    }
    const timer = setTimeout(() => void search(), pauseMs)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [client, text])
  return found
}

const mostRows = 20

/** Conversations and sessions, the newest first. */
async function rowsWith(client: Client, text: string): Promise<FoundRow[]> {
  const filter = { text, limit: mostRows }
  const [{ conversations }, { sessions }] = await Promise.all([
    client.conversations({ ...filter, kind: 'conversation' }),
    client.sessions(filter),
  ])
  const rows = [
    ...conversations.map((row) => ({ ...row, address: addresses.conversation(row.id) })),
    ...sessions.map((row) => ({ ...row, address: addresses.session(row.flow, row.id) })),
  ]
  return rows.sort((one, other) => other.updatedAt - one.updatedAt).slice(0, mostRows)
}
