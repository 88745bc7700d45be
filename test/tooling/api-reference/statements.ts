/** A statement of a declaration file, with the comment in front of it. */
export type Statement = { readonly doc: string | null; readonly code: string }

/** Splits what the compiler emits. Knows no types: only where strings, comments and brackets begin and end. */
export function statementsOf(text: string): Statement[] {
  const statements: Statement[] = []
  let doc: string | null = null
  let at = 0
  while (at < text.length) {
    if (/\s/.test(text[at]!)) at += 1
    else if (text.startsWith('//', at)) at = endOfLine(text, at)
    else if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at) + 2
      doc = text.startsWith('/**', at) ? text.slice(at, end) : null
      at = end
    } else {
      const end = endOfStatement(text, at)
      statements.push({ doc: doc && plainDoc(doc), code: text.slice(at, end).trim() })
      doc = null
      at = end
    }
  }
  return statements
}

/** What a doc comment says, without its frame. */
function plainDoc(comment: string): string {
  return comment
    .replace(/^\/\*\*/, '')
    .replace(/\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()
}

function endOfStatement(text: string, from: number): number {
  // These end with their closing brace, all others with a semicolon.
  const isBlock = /^(export )?(declare )?(abstract )?(class|interface|module|namespace|global)\b/.test(text.slice(from))
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]!
    if (character === "'" || character === '"' || character === '`') at = endOfString(text, at)
    else if (text.startsWith('/*', at)) at = text.indexOf('*/', at) + 1
    else if (text.startsWith('//', at)) at = endOfLine(text, at)
    else if ('([{'.includes(character)) depth += 1
    else if (')]}'.includes(character)) {
      depth -= 1
      if (depth === 0 && character === '}' && isBlock) return at + 1
    } else if (character === ';' && depth === 0) return at + 1
  }
  return text.length
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === text[from]) return at
  }
  return text.length
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end === -1 ? text.length : end
}
