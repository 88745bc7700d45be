import stringWidth from 'fast-string-width'

/** Text that is safe to write to a terminal: outside text is escaped, and the only escape sequences are our own colours. */
export class SafeText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Anything that can be printed. A string is never trusted: it is escaped when printed. */
export type Printable = string | number | SafeText

/** A template that escapes its values, except `SafeText`. */
export function safe(strings: TemplateStringsArray, ...values: readonly Printable[]): SafeText {
  return new SafeText(
    strings.map((piece, index) => piece + (index < values.length ? safely(values[index]!) : '')).join(''),
  )
}

export function safely(value: Printable): string {
  return value instanceof SafeText ? value.text : escaped(String(value))
}

export function joined(values: readonly Printable[], separator = ''): SafeText {
  return new SafeText(values.map(safely).join(separator))
}

/**
 * Shows what a terminal could take for a command: control characters (C0 except tab and newline, DEL, C1), and characters that change the direction of
 * text, which can make a line read as another.
 */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(dangerous, (character) => {
      const code = character.codePointAt(0)!
      return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
    })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** JSON with DEL, C1 and changes of direction escaped: JSON itself allows them, and a terminal may act on them. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  return text.replaceAll(dangerous, (character) => {
    if (character.charCodeAt(0) < 0x20) return character
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export type Colours = Readonly<Record<keyof typeof codes, (text: Printable) => SafeText>>

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export function coloursOf(areWanted: boolean): Colours {
  const paint =
    ([on, off]: readonly [number, number]) =>
    (text: Printable) =>
      new SafeText(areWanted ? safely(text).replaceAll(/^.+$/gm, `\u001b[${on}m$&\u001b[${off}m`) : safely(text))
  return Object.fromEntries(Object.entries(codes).map(([name, pair]) => [name, paint(pair)])) as Colours
}

/** Only on a terminal, and not with NO_COLOR: https://no-color.org. */
export function wantsColours(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

const gap = '  '
const narrowest = 8

/** Rows below a heading, in columns. The last column is cut to fit `width`; 0 means no limit. */
export function table(heading: readonly Printable[], rows: readonly (readonly Printable[])[], width = 0): SafeText[] {
  const cells = [heading, ...rows].map((row) => row.map((cell) => oneLine(safely(cell))))
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column] ?? ''))))
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + gap.length, 0)
  const last = width > 0 ? Math.max(narrowest, width - before) : Number.POSITIVE_INFINITY
  return cells.map((row) => {
    const padded = row.map((cell, column) =>
      column === row.length - 1 ? shortened(cell, last) : cell + ' '.repeat(widths[column]! - stringWidth(cell)),
    )
    return new SafeText(padded.join(gap).trimEnd())
  })
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** Cells with colours are short, and are never cut. */
function shortened(text: string, most: number): string {
  if (stringWidth(text) <= most) return text
  let kept = ''
  for (const character of text) {
    if (stringWidth(kept + character) >= most) break
    kept += character
  }
  return `${kept}…`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** As in '3h ago'. */
export function ago(at: number, now = Date.now()): string {
  return now - at < 1_000 ? 'just now' : `${duration(now - at)} ago`
}

/** As in '3h', in the largest unit that fits. */
export function duration(ms: number): string {
  const [name, size] = units.find(([, each]) => ms >= each) ?? units[3]
  return `${Math.max(0, Math.floor(ms / size))}${name}`
}
