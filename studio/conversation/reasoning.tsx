import { Markdown } from '../parts/markdown.tsx'
import { oneLine } from '../parts/shown-text.ts'

/** What the model thought before it spoke, folded to its first words; while it is written, to its last. */
export function Reasoning({ text, isWriting = false }: { text: string; isWriting?: boolean }) {
  if (text.trim() === '') return null
  return (
    <details className="group/fold text-soft">
      <summary className="flex cursor-pointer list-none gap-2 rounded-(--radius) hover:text-text max-md:min-h-11 max-md:items-center">
        <span className="shrink-0 text-faint">
          <span aria-hidden className="inline-block w-3 group-open/fold:rotate-90">
            ›
          </span>{' '}
          Reasoning
        </span>
        <span className="truncate text-faint group-open/fold:hidden">
          {isWriting ? oneLine(text.slice(-100)) : oneLine(text, 120)}
        </span>
      </summary>
      <div className="mt-1 border-l-2 pl-3">
        <Markdown text={text} />
      </div>
    </details>
  )
}
