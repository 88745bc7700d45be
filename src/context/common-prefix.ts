import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { withoutBreakpoint } from './cache-breakpoints.ts'

export type CommonPrefix = {
  /** Messages both prompts begin with. */
  readonly messages: number
  /** Characters of those, and of the whole prompt. */
  readonly characters: number
  readonly of: number
  /** What differs first; null when the earlier prompt is a whole prefix. */
  readonly brokenBy: string | null
}

/** How much of a prompt the provider may have cached from the one before. */
export function commonPrefix(earlier: LanguageModelV4Prompt, later: LanguageModelV4Prompt): CommonPrefix {
  const before = earlier.map(textOf)
  const now = later.map(textOf)
  const differs = now.findIndex((text, index) => text !== before[index])
  const messages = differs < 0 ? now.length : differs
  const length = (texts: readonly string[]) => texts.reduce((total, text) => total + text.length, 0)
  const isBroken = messages < before.length
  const brokenBy = isBroken ? describe(earlier[messages]!, later[messages], messages) : null
  return { messages, characters: length(now.slice(0, messages)), of: length(now), brokenBy }
}

function textOf(message: LanguageModelV4Message): string {
  return JSON.stringify(withoutBreakpoint(message))
}

function describe(was: LanguageModelV4Message, is: LanguageModelV4Message | undefined, index: number): string {
  if (!is) return `message ${index} (${was.role}) is gone`
  return was.role === is.role
    ? `message ${index} (${was.role}) has changed`
    : `message ${index} was ${was.role} and is ${is.role}`
}
