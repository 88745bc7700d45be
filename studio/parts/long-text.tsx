import { useMemo, useState } from 'react'
import { Button } from './button.tsx'
import { each } from './scroller.tsx'
import { shownText } from './shown-text.ts'

const shownAtFirst = 8_000
const pieceLength = 8_000

/** Text as it is. Of a long one the beginning, until a person asks for the rest; pieces that are off screen cost nothing to lay out. */
export function LongText({ text, className = '' }: { text: string; className?: string }) {
  const [isWhole, setWhole] = useState(false)
  const isLong = text.length > shownAtFirst
  const pieces = useMemo(() => (isLong && isWhole ? piecesOf(text) : []), [text, isLong, isWhole])
  return (
    <div className={className}>
      <div dir="auto" className="whitespace-pre-wrap wrap-anywhere">
        {pieces.length === 0 ? shownText(text.slice(0, shownAtFirst)) : each(pieces, pieceOf)}
        {isLong && !isWhole && '…'}
      </div>
      {isLong && (
        <Button kind="quiet" className="-ml-3" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString()} characters`}
        </Button>
      )}
    </div>
  )
}

function pieceOf(piece: string) {
  return (
    <span className="block [contain-intrinsic-height:auto_1600px] [content-visibility:auto]">{shownText(piece)}</span>
  )
}

/** Cut at ends of lines where there are some. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = from + pieceLength
    const line = text.lastIndexOf('\n', end)
    const cut = end >= text.length ? text.length : line > from ? line : end
    pieces.push(text.slice(from, cut))
    from = cut + (text[cut] === '\n' ? 1 : 0)
  }
  return pieces
}
