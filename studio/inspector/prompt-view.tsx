import { useState } from 'react'
import { Diff } from '../parts/diff.tsx'
import { LongText } from '../parts/long-text.tsx'
import { each } from '../parts/scroller.tsx'
import type { PromptDiff, PromptLine, PromptMessage } from './prompt-diff.ts'

/** Messages that are as before are folded where there are many in a row. */
const mostSame = 3

/** The prompt as it was rendered; with `diff`, against the one before. */
export function PromptView({ prompt, diff }: { prompt: readonly PromptMessage[]; diff: PromptDiff | null }) {
  const [isWhole, setWhole] = useState(false)
  const lines: readonly PromptLine[] = diff?.lines ?? prompt.map((message) => ({ change: 'same', message }))
  const folded = diff && !isWhole ? Math.max(0, diff.common - mostSame) : 0
  const shown = lines.slice(folded)
  return (
    <div className="flex flex-col gap-2">
      {folded > 0 && (
        <button type="button" className="link self-start" onClick={() => setWhole(true)}>
          {folded.toLocaleString()} messages as before
        </button>
      )}
      {each(shown, (line) => (
        <PromptMessageView line={line} isMarked={diff !== null} isBreak={line === lines[diff?.brokenAt ?? -1]} />
      ))}
    </div>
  )
}

const changes: Readonly<Record<PromptLine['change'], readonly [string, string]>> = {
  same: ['', 'border-line'],
  added: ['added', 'border-done'],
  removed: ['removed', 'border-failed opacity-70'],
  changed: ['changed', 'border-waiting'],
}

type LineProps = { readonly line: PromptLine; readonly isMarked: boolean; readonly isBreak: boolean }

function PromptMessageView({ line, isMarked, isBreak }: LineProps) {
  const [word, look] = changes[line.change]
  return (
    <>
      {isBreak && (
        <p className="flex items-center gap-2 font-medium text-xs before:h-px before:grow before:bg-faint after:h-px after:grow after:bg-faint">
          the prompt cache broke here
        </p>
      )}
      <article
        aria-label={`${line.message.role} message`}
        className={`border-l-2 pl-2 ${isMarked ? look : 'border-line'}`}
      >
        <header className="flex gap-2 text-faint text-xs">
          <span>{line.message.role}</span>
          {isMarked && word && <span className="text-text">{word}</span>}
        </header>
        {line.change === 'changed' && isMarked ? (
          <Diff before={line.was.text} after={line.message.text} label="Change of the message" />
        ) : (
          <LongText text={line.message.text} className="font-mono text-xs" />
        )}
      </article>
    </>
  )
}
