import type { SendingMessage } from 'perdure/react'
import { oneLine } from '../parts/shown-text.ts'

/** Messages that the server has not said to be durable. */
export function Sending({ sending }: { sending: readonly SendingMessage[] }) {
  if (sending.length === 0) return null
  return (
    <ul className="mx-auto w-full max-w-187 px-4 pb-1 text-soft">
      {sending.map(({ key, message }) => (
        <li key={key} className="flex gap-2">
          <span className="min-w-0 truncate">{typeof message === 'string' ? oneLine(message) : 'A message'}</span>
          <span className="shrink-0 text-faint">Sending…</span>
        </li>
      ))}
    </ul>
  )
}
