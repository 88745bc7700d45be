/** A part of a text that is parsed by itself, so that text which grows at its end is parsed there alone. */
export type MarkdownPiece = {
  readonly type: 'text' | 'code' | 'plain'
  readonly text: string
  readonly language?: string
}

const mostCharacters = 120_000
const mostPieces = 500
const pieceCharacters = 12_000
const mostEmphasis = 600
const mostMarks = 1_500
const mostDepth = 12

/**
 * Divides Markdown at blank lines and fences. A piece whose parsing could take long is `plain`: one that is long, deeply nested, or full of marks. Null: the
 * whole text is too much.
 */
export function markdownPieces(text: string): readonly MarkdownPiece[] | null {
  if (text.length > mostCharacters) return null
  const pieces: MarkdownPiece[] = []
  let lines: string[] = []
  let fence: { readonly mark: string; readonly language: string } | null = null
  const end = (type: 'text' | 'code', language?: string): void => {
    const body = lines.join('\n')
    lines = []
    if (type === 'text' && body.trim() === '') return
    if (type === 'code') pieces.push({ type, text: body, ...(language ? { language } : {}) })
    else pieces.push({ type: isCheap(body) ? 'text' : 'plain', text: body })
  }
  for (const line of text.split('\n')) {
    if (fence) {
      if (line.trim().startsWith(fence.mark) && /^\s*(`+|~+)\s*$/.test(line)) {
        end('code', fence.language)
        fence = null
      } else lines.push(line)
      continue
    }
    const opened = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})[^`]*$/.exec(line)
    if (opened) {
      end('text')
      fence = { mark: opened[1]!, language: opened[2]! }
    } else if (line.trim() === '') end('text')
    // An indented line after a blank one goes on with the list before it.
    else if (lines.length === 0 && /^\s/.test(line) && pieces.at(-1)?.type === 'text') {
      lines = [pieces.pop()!.text, '', line]
    } else lines.push(line)
    if (pieces.length > mostPieces) return null
  }
  // A fence that is not closed yet is code already: text arrives piece by piece.
  end(fence ? 'code' : 'text', fence?.language)
  return pieces
}

function isCheap(text: string): boolean {
  if (text.length > pieceCharacters) return false
  if (count(text, /[*_~]/g) > mostEmphasis || count(text, /[[\]!<`]/g) > mostMarks) return false
  return text.split('\n').every((line) => depthOf(line) <= mostDepth)
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

/** How many lists and quotes a line is in, about. */
function depthOf(line: string): number {
  const prefix = /^(?:\s|>|[-+*](?=\s|$)|\d{1,9}[.)](?=\s|$))*/.exec(line)![0]
  const marks = count(prefix, />|[-+*]|\d+[.)]/g)
  return marks + Math.floor(count(prefix, /\s/g) / 2)
}
