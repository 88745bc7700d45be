import { MissingDependencyError } from '../errors/store-errors.ts'
import type { Tokenizer } from './count-tokens.ts'

/** Counts as OpenAI's newer models do, with the optional package `gpt-tokenizer`. Pass it as `context.tokenizer`. */
export async function gptTokenizer(): Promise<Tokenizer> {
  const { countTokens } = await import('gpt-tokenizer').catch((cause: unknown) => {
    throw new MissingDependencyError('gpt-tokenizer', 'gptTokenizer()', cause)
  })
  const known = new Map<string, number>()
  return (text) => {
    const counted = known.get(text)
    if (counted !== undefined) return counted
    const tokens = countTokens(text)
    if (known.size >= 10_000) known.clear()
    known.set(text, tokens)
    return tokens
  }
}
