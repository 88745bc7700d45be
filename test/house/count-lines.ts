import { parseSync } from 'oxc-parser'
import type { SourceFile } from './source-files.ts'

export type Lines = {
  readonly lines: number
  /** Lines that have something other than comments and blanks. */
  readonly code: number
}

/** Counts the lines of a file as an editor does: a newline at the end begins no line. */
export function countLines({ path, text }: SourceFile): Lines {
  if (text === '') return { lines: 0, code: 0 }
  const { comments } = parseSync(path, text)
  const blanked = comments.reduceRight(
    (rest, { start, end }) => rest.slice(0, start) + rest.slice(start, end).replaceAll(/[^\n]/g, ' ') + rest.slice(end),
    text,
  )
  const lines = blanked.replace(/\n$/, '').split('\n')
  return { lines: lines.length, code: lines.filter((line) => line.trim() !== '').length }
}
