import { diffLines } from 'diff'
import type { Json } from 'perdure/client'
import { useMemo } from 'react'
import { each, Scroller } from './scroller.tsx'
import { shownText } from './shown-text.ts'

const mostCharacters = 60_000

/** What changed between two values, line by line. */
export function Diff({ before, after, label = 'Change' }: { before: Json; after: Json; label?: string }) {
  const changes = useMemo(() => {
    const [was, is] = [textOf(before), textOf(after)]
    if (was.length + is.length > mostCharacters) return null
    return diffLines(was, is, { timeout: 300 }) ?? null
  }, [before, after])
  if (!changes) return <p className="text-soft">Too long to compare here. The log has both.</p>
  return (
    <Scroller label={label} className="whitespace-pre-wrap">
      {each(changes, ({ value, added, removed }) => {
        const [mark, look] = added ? addedLook : removed ? removedLook : sameLook
        const lines = value.replace(/\n$/, '').split('\n')
        return <span className={`block ${look}`}>{shownText(lines.map((line) => `${mark} ${line}`).join('\n'))}</span>
      })}
    </Scroller>
  )
}

const addedLook = ['+', 'bg-done-soft text-done'] as const
const removedLook = ['-', 'bg-failed-soft text-failed'] as const
const sameLook = [' ', 'text-soft'] as const

/** Ends with a line break, so that a last line equals the same line in the middle. */
function textOf(value: Json): string {
  return `${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}\n`
}
