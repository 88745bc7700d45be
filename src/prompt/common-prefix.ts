import { hash } from 'node:crypto'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { withoutBreakpoint } from './render/render-context.ts'

/** A prompt as far as comparing needs it: cheap to keep. */
export type PromptTrace = readonly MessageTrace[]

type MessageTrace = { readonly role: string; readonly characters: number; readonly digest: string }

/** How much of a prompt is the same as the one before, which is what a provider's prompt cache can use. */
export type CommonPrefix = {
  /** Messages that both prompts begin with. */
  readonly messages: number
  /** Characters of those, and of the whole prompt. */
  readonly characters: number
  readonly of: number
  /** What differs first; null when the earlier prompt is a whole prefix. */
  readonly brokenBy: string | null
}

export function traceOf(prompt: LanguageModelV4Prompt): PromptTrace {
  return prompt.map((message) => {
    const text = promptJson(withoutBreakpoint(message))
    return { role: message.role, characters: text.length, digest: hash('sha1', text, 'base64') }
  })
}

/** How much of a prompt the provider may have cached from the one before. */
export function commonPrefix(earlier: PromptTrace, later: PromptTrace): CommonPrefix {
  const differs = later.findIndex((message, index) => message.digest !== earlier[index]?.digest)
  const messages = differs < 0 ? later.length : differs
  const brokenBy = messages < earlier.length ? describe(earlier[messages]!, later[messages], messages) : null
  return { messages, characters: charactersOf(later.slice(0, messages)), of: charactersOf(later), brokenBy }
}

function describe(was: MessageTrace, is: MessageTrace | undefined, index: number): string {
  if (!is) return `message ${index} (${was.role}) is gone`
  if (was.role !== is.role) return `message ${index} was of ${was.role} and is of ${is.role}`
  return was.role === 'system' ? 'the instructions have changed' : `message ${index} (${was.role}) has changed`
}

function charactersOf(trace: PromptTrace): number {
  return trace.reduce((total, { characters }) => total + characters, 0)
}

/** JSON text of (a part of) a prompt. Bytes are in blobs already; it says how many there were. */
export function promptJson(value: unknown): string {
  return JSON.stringify(value, withoutBytes)
}

/** Looks at the holder, because a Buffer is turned into a list of numbers before its value gets here. */
function withoutBytes(this: unknown, key: string, value: unknown): unknown {
  const member = (this as Record<string, unknown>)[key]
  return member instanceof Uint8Array ? `[${member.byteLength} bytes]` : value
}
