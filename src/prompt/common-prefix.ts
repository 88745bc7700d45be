import { hash } from 'node:crypto'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { withoutBreakpoint } from './render/render-context.ts'

/** A compact form of a prompt, for comparisons. */
export type PromptTrace = readonly MessageTrace[]

type MessageTrace = { readonly role: string; readonly characters: number; readonly digest: string }

/** How much of a prompt equals the previous one, and can be served from a provider's prompt cache. */
export type CommonPrefix = {
  /** Messages that both prompts begin with. */
  readonly messages: number
  /** Characters of those messages, and of the whole prompt. */
  readonly characters: number
  readonly of: number
  /** The first difference. Null when the earlier prompt is a prefix of the later one. */
  readonly brokenBy: string | null
}

export function traceOf(prompt: LanguageModelV4Prompt): PromptTrace {
  return prompt.map((message) => {
    const text = promptJson(withoutBreakpoint(message))
    return { role: message.role, characters: text.length, digest: hash('sha1', text, 'base64') }
  })
}

/** How much of a prompt the provider may have cached from the previous one. */
export function commonPrefix(earlier: PromptTrace, later: PromptTrace): CommonPrefix {
  const differs = later.findIndex((message, index) => message.digest !== earlier[index]?.digest)
  const messages = differs < 0 ? later.length : differs
  const brokenBy = messages < earlier.length ? describe(earlier[messages]!, later[messages], messages) : null
  return { messages, characters: charactersOf(later.slice(0, messages)), of: charactersOf(later), brokenBy }
}

function describe(was: MessageTrace, is: MessageTrace | undefined, index: number): string {
  if (!is) return `message ${index} (${was.role}) is gone`
  if (was.role !== is.role) return `message ${index} changed its role from ${was.role} to ${is.role}`
  return was.role === 'system' ? 'the instructions have changed' : `message ${index} (${was.role}) has changed`
}

function charactersOf(trace: PromptTrace): number {
  return trace.reduce((total, { characters }) => total + characters, 0)
}

/** JSON text of a prompt or a part of it. Bytes are replaced by their number, because blobs already hold them. */
export function promptJson(value: unknown): string {
  return JSON.stringify(value, withoutBytes)
}

/** Reads from the holder, because JSON.stringify converts a Buffer to a list of numbers first. */
function withoutBytes(this: unknown, key: string, value: unknown): unknown {
  const member = (this as Record<string, unknown>)[key]
  return member instanceof Uint8Array ? `[${member.byteLength} bytes]` : value
}
