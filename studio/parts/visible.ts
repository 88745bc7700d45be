import { hiddenIn, shownText } from './shown-text.ts'

/** Text of models, tools and strangers as it may be shown in a line: hidden characters by their numbers, cut to a length. */
export function visible(text: string, most = 2_000): string {
  const isLong = text.length > most
  const shown = shownText(isLong ? text.slice(0, most - 1) : text)
  return isLong ? `${shown}…` : shown
}

/** Whether a text has characters that a person cannot see. */
export function hasHidden(text: string): boolean {
  return hiddenIn(text.slice(0, 100_000))
}
