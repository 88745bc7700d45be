import type { Json } from 'perdure/client'
import { LongText } from './long-text.tsx'
import { Scroller } from './scroller.tsx'
import { shownText } from './shown-text.ts'

const mostMembers = 12

/** A value as people read it: text as text, few plain members as a table, all else as indented JSON. */
export function JsonView({ value }: { value: Json }) {
  if (typeof value === 'string') return <LongText text={value} />
  if (!isPlain(value)) {
    return (
      <Scroller label="JSON">
        <LongText text={JSON.stringify(value, null, 2)} />
      </Scroller>
    )
  }
  const members = Object.entries(value)
  if (members.length === 0) return <span className="text-faint">none</span>
  return (
    <dl className="grid grid-cols-[minmax(64px,auto)_1fr] gap-x-3">
      {members.map(([name, member]) => (
        <div key={name} className="col-span-2 grid grid-cols-subgrid">
          <dt className="max-w-48 truncate font-mono text-xs text-faint leading-5" title={shownText(name)}>
            {shownText(name)}
          </dt>
          <dd className="min-w-0">
            {typeof member === 'string' ? <LongText text={member} /> : <code>{String(member)}</code>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function isPlain(value: Json): value is { readonly [name: string]: string | number | boolean | null } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const members = Object.values(value)
  return members.length <= mostMembers && members.every((member) => typeof member !== 'object' || member === null)
}
