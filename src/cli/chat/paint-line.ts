import type { Colours } from '../terminal/colours.ts'
import { safely } from '../terminal/safe-text.ts'
import type { Line } from './line.ts'

/** A row as it is written to the terminal: the one place where text and escape sequences meet. */
export function paintLine(row: Line, colours: Colours): string {
  return row
    .map(({ text, style }) => {
      const shown = safely(text).replaceAll('\n', '\u240a')
      return style === 'plain' ? shown : safely(colours[style](shown))
    })
    .join('')
}
