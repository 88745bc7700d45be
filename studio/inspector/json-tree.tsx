import { ChevronRight } from 'lucide-react'
import type { Json } from 'perdure/client'
import { useState } from 'react'
import { LongText } from '../parts/long-text.tsx'
import { shownText } from '../parts/shown-text.ts'

const mostMembers = 200

/** JSON whose inner parts are folded. `depth`: how many levels are open at first. */
export function JsonTree({ value, depth = 3, name }: { value: Json; depth?: number; name?: string }) {
  const [isOpen, setOpen] = useState(depth > 0)
  const [isWhole, setWhole] = useState(false)
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="flex gap-1.5 pl-4">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    )
  }
  const members: (readonly [string, Json])[] = Object.entries(value)
  if (members.length === 0) {
    return (
      <div className="flex gap-1.5 pl-4">
        <Name name={name} />
        <span className="text-faint">{Array.isArray(value) ? '[ ]' : '{ }'}</span>
      </div>
    )
  }
  const shown = isWhole ? members : members.slice(0, mostMembers)
  const rows = (
    <>
      {shown.map(([key, member]) => (
        <JsonTree key={key} name={key} value={member} depth={depth - 1} />
      ))}
      {members.length > shown.length && (
        <button type="button" className="link ml-4" onClick={() => setWhole(true)}>
          {(members.length - shown.length).toLocaleString()} more
        </button>
      )}
    </>
  )
  // The outermost has no line to fold it by.
  if (name === undefined) return <div>{rows}</div>
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)} className="group/tree">
      <summary className="flex cursor-pointer list-none gap-1.5 rounded-xs hover:bg-hover [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className={`mt-1 size-2.5 shrink-0 text-faint ${isOpen ? 'rotate-90' : ''}`} />
        <Name name={name} />
        {name === undefined && <span className="sr-only">Members</span>}
        {!isOpen && <span className="min-w-0 truncate text-faint">{glance(value)}</span>}
      </summary>
      {isOpen && <div className="ml-1 border-l pl-2">{rows}</div>}
    </details>
  )
}

function Name({ name }: { name: string | undefined }) {
  if (name === undefined) return null
  return (
    <span className="max-w-48 shrink-0 truncate text-faint" title={shownText(name)}>
      {shownText(name)}
    </span>
  )
}

function Scalar({ value }: { value: string | number | boolean | null }) {
  if (typeof value === 'string') return <LongText text={value} className="min-w-0" />
  return <span className={value === null ? 'text-faint' : 'text-soft'}>{String(value)}</span>
}

function glance(value: object): string {
  const text = Array.isArray(value) ? `${value.length} items` : Object.keys(value).slice(0, 6).join(', ')
  return shownText(text)
}
