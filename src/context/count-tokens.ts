import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { UserPart } from '../log/events.ts'

/** Counts the tokens of a text. */
export type Tokenizer = (text: string) => number

/** What an image or document costs where nothing better is known. */
const tokensPerFile = 800
/** What a provider adds around a message or part. */
const tokensPerPart = 4

/**
 * A cheap guess: four characters a token, fewer where the script is dense. Within a third of what providers count for prose and code in
 * European languages, and within a half elsewhere; `Calibration` corrects it by what they report.
 */
export const estimateTokens: Tokenizer = (text) => {
  let dense = 0
  // Sampling keeps long texts cheap.
  const step = Math.max(1, Math.floor(text.length / 256))
  let seen = 0
  for (let index = 0; index < text.length; index += step) {
    seen += 1
    if (text.charCodeAt(index) > 0x2e80) dense += 1
  }
  const denseShare = seen === 0 ? 0 : dense / seen
  return Math.ceil(text.length * (denseShare + (1 - denseShare) / 4))
}

export function countParts(parts: readonly UserPart[], tokenizer: Tokenizer): number {
  let tokens = 0
  for (const part of parts) tokens += tokensPerPart + (part.type === 'text' ? tokenizer(part.text) : tokensPerFile)
  return tokens
}

/** Of a rendered message, with everything in it. */
export function countMessage(message: LanguageModelV4Message, tokenizer: Tokenizer): number {
  if (typeof message.content === 'string') return tokensPerPart + tokenizer(message.content)
  let tokens = tokensPerPart
  for (const part of message.content) tokens += tokensPerPart + countPart(part, tokenizer)
  return tokens
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number]

function countPart(part: Part, tokenizer: Tokenizer): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return tokenizer(part.text)
    case 'tool-call':
      return tokenizer(part.toolName) + tokenizer(JSON.stringify(part.input) ?? '')
    case 'tool-result':
      return tokenizer(JSON.stringify(part.output))
    default:
      return tokensPerFile
  }
}
