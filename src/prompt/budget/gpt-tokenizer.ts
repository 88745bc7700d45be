import { MissingDependencyError } from '../../base/errors/store-errors.ts'
import type { Tokenizer } from './count-tokens.ts'

const mostCharacters = 2_000_000

/** Counts as OpenAI's newer models do, with the optional package `gpt-tokenizer`. Pass it as `context.tokenizer`. */
export async function gptTokenizer(): Promise<Tokenizer> {
  const { countTokens } = await import('gpt-tokenizer').catch((cause: unknown) => {
    throw new MissingDependencyError('gpt-tokenizer', 'gptTokenizer()', cause)
  })
  // Instructions and the open turn are counted again for every call.
  const known = new Map<string, number>()
  let characters = 0
  return (text) => {
    const counted = known.get(text)
    if (counted !== undefined) return counted
    // What a user writes is text, also where it looks like a mark of the tokenizer.
    const tokens = countTokens(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() })
    characters += text.length
    if (characters > mostCharacters) {
      known.clear()
      characters = text.length
    }
    known.set(text, tokens)
    return tokens
  }
}
