import { useState } from 'react'
import { oneLine } from './shown-text.ts'

/** An id, shortened in the middle; a click copies the whole. */
export function Id({ id }: { id: string }) {
  const [isCopied, setCopied] = useState(false)
  const short = id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-6)}` : id
  return (
    <button
      type="button"
      title={`${oneLine(id, 400)} (click to copy)`}
      className="whitespace-nowrap font-mono text-xs text-soft hover:text-text"
      onClick={() => {
        void navigator.clipboard.writeText(id).then(() => {
          setCopied(true)
          setTimeout(() => setCopied(false), 1_200)
        })
      }}
    >
      {isCopied ? 'copied' : oneLine(short)}
    </button>
  )
}
