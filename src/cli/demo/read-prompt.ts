import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'

/** What a tool told, as a script reads it. */
export type ToolReply = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: string }

/** What somebody asked last, and what the tools have told since. */
export type Asked = { readonly text: string; readonly replies: ReadonlyMap<string, ToolReply> }

/** A script decides by the prompt alone, so that it goes on after a crash like a real model. */
export function readPrompt(prompt: LanguageModelV4Prompt): Asked {
  const last = prompt.findLastIndex(({ role }) => role === 'user')
  const message = prompt[last]
  const text =
    message?.role === 'user' ? message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ') : ''
  const replies = new Map<string, ToolReply>()
  for (const { role, content } of prompt.slice(last + 1)) {
    if (role !== 'tool') continue
    for (const part of content) if (part.type === 'tool-result') replies.set(part.toolName, replyOf(part.output))
  }
  return { text, replies }
}

function replyOf(output: { readonly type: string; readonly value?: unknown }): ToolReply {
  if (output.type.startsWith('error')) return { ok: false, error: String(output.value) }
  const value = (output.value ?? null) as Json
  // Where a person changed the arguments, the result comes with a note about it.
  const isNoted = typeof value === 'object' && value !== null && 'note' in value && 'result' in value
  return { ok: true, value: isNoted ? (value['result'] as Json) : value }
}
