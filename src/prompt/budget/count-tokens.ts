import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { Tool } from '../../define/tool.ts'
import type { UserPart } from '../../log/events.ts'

/** Counts the tokens of a text. */
export type Tokenizer = (text: string) => number

/** What an image or document costs where nothing better is known. */
const tokensPerFile = 800
/** What a provider adds around a message or part. */
const tokensPerPart = 4

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

/** Of the descriptions of tools, which every request carries. */
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

/** An agent's tools are the same in every prompt. */
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
