import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { MissingDependencyError } from '../../base/errors/store-errors.ts'
import type { Tool } from '../../define/tool.ts'
import type { UserPart } from '../../log/events.ts'

/** Counts the tokens of a text. */
export type Tokenizer = (text: string) => number

/** The cost of an image or document when it is not known. */
const tokensPerFile = 800
/** What a provider adds per message or part. */
const tokensPerPart = 4

export function countParts(parts: readonly UserPart[], tokenizer: Tokenizer): number {
  let tokens = 0
  for (const part of parts) tokens += tokensPerPart + (part.type === 'text' ? tokenizer(part.text) : tokensPerFile)
  return tokens
}

/** The tokens of a rendered message with all its parts. */
export function countMessage(message: LanguageModelV4Message, tokenizer: Tokenizer): number {
  if (typeof message.content === 'string') return tokensPerPart + tokenizer(message.content)
  let tokens = tokensPerPart
  for (const part of message.content) tokens += tokensPerPart + countPart(part, tokenizer)
  return tokens
}

/** The tokens of the tool descriptions that every request carries. */
export function countTools(tools: readonly Tool[], tokenizer: Tokenizer): number {
  const known = counted.get(tools)
  if (known?.tokenizer === tokenizer) return known.tokens
  let tokens = 0
  for (const tool of tools) {
    const schema = 'inputJsonSchema' in tool ? JSON.stringify(tool.inputJsonSchema) : ''
    tokens += tokensPerPart + tokenizer(tool.name) + tokenizer(tool.description) + tokenizer(schema)
  }
  counted.set(tools, { tokenizer, tokens })
  return tokens
}

/** Cached: an agent's tools are the same in every prompt. */
const counted = new WeakMap<readonly Tool[], { readonly tokenizer: Tokenizer; readonly tokens: number }>()

type Part = Exclude<LanguageModelV4Message['content'], string>[number]

function countPart(part: Part, tokenizer: Tokenizer): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return tokenizer(part.text)
    case 'tool-call':
      return tokenizer(part.toolName) + tokenizer(JSON.stringify(part.input) ?? '')
    case 'tool-result':
      return tokenizer(outputText(part.output))
    default:
      return tokensPerFile
  }
}

function outputText(output: Extract<Part, { type: 'tool-result' }>['output']): string {
  const { value = '' } = output as { value?: unknown }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const samples = 512

/**
 * A cheap estimate by kinds of characters. Within a third of OpenAI's tokenizer for prose in all tested scripts, code,
 * markup, logs and JSON; half too low for random text such as base64. `Calibration` corrects it by what providers
 * report.
 */
export const estimateTokens: Tokenizer = (text) => {
  // Sampling keeps long texts cheap.
  const stride = Math.max(1, text.length / samples)
  let tokens = 0
  let seen = 0
  for (let place = 0; place < text.length; place += stride) {
    tokens += tokensPerCharacter(text.charCodeAt(Math.floor(place)))
    seen += 1
  }
  return seen === 0 ? 0 : Math.ceil((tokens / seen) * text.length)
}

function tokensPerCharacter(code: number): number {
  if (code < 0x80) return ascii[code]!
  if (code < 0x250) return 0.3
  if (code < 0x1100) return 0.32
  if (code < 0x2e80) return 0.5
  if (code >= 0xd800 && code < 0xe000) return 1
  return code >= 0xac00 ? 0.72 : 0.62
}

const ascii = Float64Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z]/.test(character)) return 0.21
  if (/[A-Z]/.test(character)) return 0.4
  if (/[0-9]/.test(character)) return 0.6
  return /\s/.test(character) ? 0.05 : 0.5
})

const mostCharacters = 2_000_000

/** Counts like OpenAI's newer models, with the optional package `gpt-tokenizer`. Pass it as `context.tokenizer`. */
export async function gptTokenizer(): Promise<Tokenizer> {
  const { countTokens } = await import('gpt-tokenizer').catch((cause: unknown) => {
    throw new MissingDependencyError('gpt-tokenizer', 'gptTokenizer()', cause)
  })
  // Cached: instructions and the open turn are counted again for every call.
  const known = new Map<string, number>()
  let characters = 0
  return (text) => {
    const counted = known.get(text)
    if (counted !== undefined) return counted
    // A user's text is plain text, even if it looks like a special token.
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

/** The ratio of estimates to the provider's counts, learnt from the calls of one conversation. */
export type Calibration = { readonly factor: number }

export const uncalibrated: Calibration = { factor: 1 }

const weightOfNews = 0.5
/** Below this, the overhead around a prompt outweighs the prompt. */
const minTokens = 500
/**
 * A lower ratio cannot be an estimation error: the provider must have counted another prompt. A higher one can, and
 * must count.
 */
const minRatio = 0.4
const [leastFactor, mostFactor] = [0.5, 4]

/** `reported` is the provider's count of a prompt whose uncorrected estimate is `estimated`. */
export function calibrate({ factor }: Calibration, estimated: number, reported: number | undefined): Calibration {
  if (reported === undefined || estimated < minTokens || reported / estimated < minRatio) return { factor }
  const seen = Math.min(mostFactor, Math.max(leastFactor, reported / estimated))
  return { factor: factor * (1 - weightOfNews) + seen * weightOfNews }
}
