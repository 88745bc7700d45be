import type { Colours } from '../terminal/colours.ts'

/** How a piece of text looks. Nothing but these names becomes an escape sequence. */
export type Style = 'plain' | keyof Colours

export type Span = { readonly text: string; readonly style: Style }

/** One line of the screen before it is wrapped. Its text may be anything: it is made harmless when it is painted. */
export type Line = readonly Span[]

/** `line('a', dim('b'))`: strings are plain. */
export function line(...pieces: readonly (string | Span)[]): Line {
  return pieces.map((piece) => (typeof piece === 'string' ? { text: piece, style: 'plain' } : piece))
}

export function styled(style: Style, text: string): Span {
  return { text, style }
}
