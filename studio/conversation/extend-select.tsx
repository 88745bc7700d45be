import type { PendingItem } from 'perdure/client'
import { Until } from '../parts/time.tsx'

const hourMs = 3_600_000
const extensions: readonly (readonly [string, number])[] = [
  ['by an hour', hourMs],
  ['by a day', 24 * hourMs],
  ['by a week', 7 * 24 * hourMs],
]

type ExtendSelectProps = {
  readonly item: PendingItem
  readonly isDisabled: boolean
  /** Null: without an end. */
  onExtend(expiresInMs: number | null): void
}

/** The deadline of a waiting call, and a way to move it back. */
export function ExtendSelect({ item: { expiresAt }, isDisabled, onExtend }: ExtendSelectProps) {
  if (expiresAt === null) return null
  return (
    <span className="inline-flex items-center gap-2 text-soft">
      <span>
        expires <Until at={expiresAt} />
      </span>
      <select
        aria-label="Extend the deadline"
        disabled={isDisabled}
        value=""
        className="min-h-8 [field-sizing:content] rounded-(--radius) bg-transparent text-soft hover:text-text max-md:min-h-11"
        onChange={(event) => {
          const byMs = Number(event.currentTarget.value)
          onExtend(byMs === 0 ? null : Math.max(0, expiresAt - Date.now()) + byMs)
        }}
      >
        <option value="" disabled>
          Extend
        </option>
        {extensions.map(([words, ms]) => (
          <option key={ms} value={ms}>
            {words}
          </option>
        ))}
        <option value={0}>without an end</option>
      </select>
    </span>
  )
}
