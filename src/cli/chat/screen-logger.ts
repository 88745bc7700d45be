import type { LogDetails, Logger } from '../../base/logger.ts'
import { line, styled } from './line.ts'
import type { Paper } from './transcript.ts'

/** Warnings and errors as lines of the chat, where the console would write over it. */
export function screenLogger(paper: Pick<Paper, 'print'>): Logger {
  const tell = (message: string, details: LogDetails = {}): void => {
    const { error } = details
    const why = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
    paper.print(line(styled('yellow', `  ! ${message}${why}`)))
  }
  return { debug: () => {}, info: () => {}, warn: tell, error: tell }
}
