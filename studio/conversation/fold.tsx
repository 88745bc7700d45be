import { ChevronRight } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { oneLine } from '../parts/shown-text.ts'

type FoldProps = {
  /** The name of a tool. */
  readonly name: string
  /** Beside the name while folded. */
  readonly words?: string
  readonly status?: ReactNode
  readonly isOpenAtFirst?: boolean
  readonly children: ReactNode
}

/** A call in one line; a click shows the rest. Its content is made only while it is open. */
export function Fold({ name, words = '', status, isOpenAtFirst = false, children }: FoldProps) {
  const [chosen, setChosen] = useState<boolean | null>(null)
  const isOpen = chosen ?? isOpenAtFirst
  return (
    <div className="border-l-2 pl-3">
      <button
        type="button"
        aria-expanded={isOpen}
        className="-ml-1 flex min-h-7 w-full min-w-0 items-center gap-2 rounded-(--radius) px-1 text-left hover:bg-hover max-md:min-h-11"
        onClick={() => setChosen(!isOpen)}
      >
        <ChevronRight className={`size-3.5 shrink-0 text-faint ${isOpen ? 'rotate-90' : ''}`} aria-hidden />
        <code className="max-w-60 shrink-0 truncate font-medium">{oneLine(name, 80)}</code>
        <span className="min-w-0 grow truncate text-soft">{words}</span>
        {status}
      </button>
      {isOpen && <div className="flex flex-col gap-2 pt-1 pb-1 pl-5">{children}</div>}
    </div>
  )
}
