import type { UserPart } from '../log/events.ts'

const charactersPerToken = 4
/** What an image or document costs where nothing better is known. */
const tokensPerFile = 800

/** A cheap guess, meant to be within a third of what providers count for prose and code. */
export function estimateTokens(parts: readonly UserPart[]): number {
  let tokens = 0
  for (const part of parts)
    tokens += part.type === 'text' ? Math.ceil(part.text.length / charactersPerToken) : tokensPerFile
  return tokens
}
