import type { StyledCell } from '../terminal-model.ts'

const cell = { width: 8.4, height: 19 } as const
const margin = { side: 16, top: 36, bottom: 14 } as const
const ink = '#d8dee9'
const colours: Readonly<Record<number, string>> = {
  2: '#8a93a6',
  31: '#e06c75',
  32: '#98c379',
  33: '#e5c07b',
  36: '#56b6c2',
}

/** The rows of a terminal as a picture: text that can be searched, in runs that stand where the terminal had them. */
export function svgOfRows(rows: readonly (readonly StyledCell[])[], columns: number, title: string): string {
  const width = Math.ceil(columns * cell.width + 2 * margin.side)
  const height = rows.length * cell.height + margin.top + margin.bottom
  const lines = rows.flatMap((row, index) => {
    const runs = runsOf(row)
    const y = margin.top + index * cell.height + 14
    return runs.length === 0 ? [] : [`<text y="${y}">${runs.join('')}</text>`]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#1e222a"/>`,
    ...[0, 1, 2].map((n) => `<circle cx="${20 + n * 18}" cy="18" r="5.5" fill="#3b4252"/>`),
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${ink}" xml:space="preserve">`,
    ...lines,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

function runsOf(row: readonly StyledCell[]): string[] {
  const runs: { text: string; column: number; style: string; width: number }[] = []
  let column = 0
  for (const { text, width, style } of row) {
    const last = runs.at(-1)
    const looks = looksOf(style)
    if (last?.style === looks) {
      last.text += text
      last.width += width
    } else runs.push({ text, column, style: looks, width })
    column += width
  }
  return runs
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, column: from, style, width }) => {
      const x = (margin.side + from * cell.width).toFixed(1)
      const length = (width * cell.width).toFixed(1)
      return `<tspan x="${x}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${style}>${escaped(text)}</tspan>`
    })
}

function looksOf(style: readonly number[]): string {
  const colour = style.map((code) => colours[code]).find(Boolean)
  return `${colour ? ` fill="${colour}"` : ''}${style.includes(1) ? ' font-weight="bold"' : ''}`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
