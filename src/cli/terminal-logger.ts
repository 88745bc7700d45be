import type { LogDetails, Logger } from '../base/logger.ts'
import { safely } from './terminal/safe-text.ts'

/** Warnings and errors as lines on stderr; stack traces only when asked for. */
export function terminalLogger({ isVerbose }: { readonly isVerbose: boolean }): Logger {
  const tell = (message: string, details: LogDetails = {}): void => {
    const { error } = details
    process.stderr.write(
      `${safely(`perdure: ${message}${error === undefined ? '' : `: ${told(error, isVerbose)}`}`)}\n`,
    )
  }
  return { debug: () => {}, info: () => {}, warn: tell, error: tell }
}

function told(error: unknown, isVerbose: boolean): string {
  if (!(error instanceof Error)) return String(error)
  return isVerbose ? (error.stack ?? error.message) : error.message
}
