import { type Tokens as Kinds, Lexer, type MarkedToken, type Token } from 'marked'
import { memo, type ReactNode, useMemo } from 'react'
import { CodeBlock } from './code-block.tsx'
import { LongText } from './long-text.tsx'
import { type MarkdownPiece, markdownPieces } from './markdown-pieces.ts'
import { RemoteImage } from './remote-image.tsx'
import { SafeLink } from './safe-link.tsx'
import { each, TableScroller } from './scroller.tsx'
import { shownText } from './shown-text.ts'

/**
 * Markdown of models, tools and people. Tokens become elements one by one, so there is no HTML to make safe: markup in the text is shown as text. Nothing is
 * loaded from other places.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const pieces = useMemo(() => markdownPieces(text), [text])
  if (!pieces) return <LongText text={text} />
  return (
    <div dir="auto" className="flex flex-col gap-2 wrap-anywhere">
      {each(pieces, pieceOf)}
    </div>
  )
})

function pieceOf(piece: MarkdownPiece): ReactNode {
  return <Piece {...piece} />
}

const Piece = memo(function Piece({ type, text, language }: MarkdownPiece) {
  const tokens = useMemo(() => (type === 'text' ? new Lexer({ gfm: true }).lex(text) : []), [type, text])
  if (type === 'code') return <CodeBlock text={text} language={language} />
  if (type === 'plain') return <LongText text={text} />
  return elementsOf(tokens)
})

function elementsOf(tokens: readonly Token[] | undefined): ReactNode {
  return each(tokens ?? [], (token) => elementOf(token as MarkedToken))
}

function elementOf(token: MarkedToken): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox':
      return null
    case 'heading':
      return <Heading {...token} />
    case 'paragraph':
      return <p>{elementsOf(token.tokens)}</p>
    case 'blockquote':
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 pl-3 text-soft">{elementsOf(token.tokens)}</blockquote>
      )
    case 'code':
      return <CodeBlock text={token.text} language={token.lang} />
    case 'hr':
      return <hr />
    case 'list':
      return listOf(token)
    case 'table':
      return tableOf(token)
    case 'link':
      return <SafeLink href={token.href}>{elementsOf(token.tokens.map(asWords))}</SafeLink>
    case 'image':
      return <RemoteImage address={token.href} words={token.text} />
    case 'strong':
      return <strong className="font-semibold">{elementsOf(token.tokens)}</strong>
    case 'em':
      return <em>{elementsOf(token.tokens)}</em>
    case 'del':
      return <del>{elementsOf(token.tokens)}</del>
    case 'codespan':
      return <code className="rounded-xs bg-hover px-1">{shownText(token.text)}</code>
    case 'br':
      return <br />
    case 'text':
      return 'tokens' in token && token.tokens ? elementsOf(token.tokens) : shownText(token.raw.replace(/\n$/, ''))
    case 'escape':
      return shownText(token.text)
    default:
      return shownText(token.raw)
  }
}

/** An image within a link is shown by its words: a link has no other link in it. */
function asWords(token: Token): Token {
  return token.type === 'image' ? { type: 'escape', raw: token.raw, text: `[${token['text'] || 'image'}]` } : token
}

/** Below the headings of the page itself. */
const headings = ['h3', 'h4', 'h5', 'h6'] as const

function Heading({ depth, tokens }: Kinds.Heading) {
  const Tag = headings[Math.min(depth, headings.length) - 1] ?? 'h6'
  return <Tag className={`font-semibold ${depth === 1 ? 'text-base' : ''}`}>{elementsOf(tokens)}</Tag>
}

function listOf({ ordered, start, items }: Kinds.List): ReactNode {
  const entries = each(items, ({ task, checked, tokens }) => (
    <li className={task ? 'list-none' : undefined}>
      {task && <span aria-hidden>{checked ? '☑ ' : '☐ '}</span>}
      {elementsOf(tokens)}
    </li>
  ))
  if (!ordered) return <ul className="list-disc pl-5">{entries}</ul>
  return (
    <ol className="list-decimal pl-6" start={typeof start === 'number' ? start : 1}>
      {entries}
    </ol>
  )
}

const alignments = { left: 'text-left', center: 'text-center', right: 'text-right' }

function tableOf({ header, rows, align }: Kinds.Table): ReactNode {
  const columns = header.map((cell, index) => ({
    cell,
    // Wide enough for its words, up to a length: a longer one is broken, as everywhere.
    minWidth: `calc(${longestWord([cell, ...rows.map((row) => row[index])])}ch + 1rem)`,
  }))
  const alignment = (index: number): string => alignments[align[index] ?? 'left']
  return (
    <TableScroller>
      <table className="border-collapse">
        <thead>
          <tr>
            {each(columns, ({ cell, minWidth }, index) => (
              <th className={`border px-2 py-1 font-medium ${alignment(index)}`} style={{ minWidth }}>
                {elementsOf(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {each(rows, (row) => (
            <tr>
              {each(row, ({ tokens }, index) => (
                <td className={`border px-2 py-1 align-top ${alignment(index)}`}>{elementsOf(tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroller>
  )
}

const longestWhole = 12

function longestWord(cells: readonly (Kinds.TableCell | undefined)[]): number {
  let longest = 0
  for (const cell of cells) {
    const words = cell?.text.slice(0, 400).split(/[\s-]+/) ?? []
    for (const { length } of words) longest = Math.max(longest, length)
  }
  return Math.min(longest, longestWhole)
}
