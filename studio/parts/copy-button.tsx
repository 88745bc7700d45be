import { Check, Copy } from 'lucide-react'
import { useState } from 'react'

/** Copies a text. The words say what; for a second they say that it is done. */
export function CopyButton({
  text,
  words = 'Copy',
  className = '',
}: {
  text: string
  words?: string
  className?: string
}) {
  const [isCopied, setCopied] = useState(false)
  const Icon = isCopied ? Check : Copy
  return (
    <button
      type="button"
      title={words}
      aria-label={isCopied ? 'Copied' : words}
      className={`grid size-7 shrink-0 place-items-center rounded-(--radius) text-faint hover:bg-hover hover:text-text max-md:size-11 ${className}`}
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => {
          setCopied(true)
          setTimeout(() => setCopied(false), 1_200)
        })
      }}
    >
      <Icon className="size-3.5" aria-hidden />
    </button>
  )
}
