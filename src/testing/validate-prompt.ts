import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { type CommonPrefix, commonPrefix, type PromptTrace, traceOf } from '../prompt/common-prefix.ts'
import { summaryHeading } from '../prompt/render/render-context.ts'

export { type PromptProvider, validatePrompt } from '../prompt/validate-prompt.ts'

type Call = { readonly prompt: unknown }

/** What may move the prefix. */
export type StablePrefixOptions = {
  /** The most reductions allowed. Default: any number. */
  readonly reductions?: number
  /** How often another node took over the conversation: each takeover may move the prefix once. Default: 0. */
  readonly takeovers?: number
}

/**
 * Throws when a prompt does not start with the whole previous prompt (except what hooks injected at its end), and no reduction explains it. Anything else that
 * moves the prefix, such as a hook or changing instructions, makes the provider's cache useless. `calls` are the calls of one conversation, in order, as
 * `scriptedModel` records them.
 */
export function expectStablePrefix(
  calls: readonly Call[],
  { reductions, takeovers = 0 }: StablePrefixOptions = {},
): void {
  const moves: string[] = []
  let reduced = 0
  let jumpedAt = -1
  for (const [index, call] of calls.entries()) {
    if (index === 0) continue
    const before = calls[index - 1]!.prompt as LanguageModelV4Prompt
    const now = call.prompt as LanguageModelV4Prompt
    const [earlier, later] = [traceOf(before), traceOf(now)]
    const prefix = commonPrefix(earlier, later)
    if (prefix.brokenBy === null || isInjection(before, prefix)) continue
    // Two in a row are not a jump.
    const isJump = sizeOf(later) <= sizeOf(earlier) * jump && jumpedAt !== index - 1
    if (isJump) jumpedAt = index
    if (isJump || isNewSummary(before, now)) reduced += 1
    else moves.push(`call ${index + 1}: ${prefix.brokenBy}`)
  }
  if (moves.length > takeovers) {
    throw new Error(
      `The prompt prefix moved ${moves.length} times without a reduction. ${moves.join('; ')}. Put what changes into an injection.`,
    )
  }
  if (reductions !== undefined && reduced > reductions) {
    throw new Error(`There were ${reduced} reductions; at most ${reductions} were expected.`)
  }
}

/** An injection is a user message after a user or tool message, at the very end, and is gone in the next prompt. */
function isInjection(before: LanguageModelV4Prompt, { messages }: CommonPrefix): boolean {
  const [beside, last] = before.slice(-2)
  return messages === before.length - 1 && last?.role === 'user' && (beside?.role === 'user' || beside?.role === 'tool')
}

/** A reduction leaves out so much at once that it cannot happen at every turn, or it shows a new summary. */
const jump = 0.8

function isNewSummary(before: LanguageModelV4Prompt, now: LanguageModelV4Prompt): boolean {
  const summary = summaryIn(now)
  return summary !== null && summary !== summaryIn(before)
}

function sizeOf(trace: PromptTrace): number {
  return trace.reduce((total, { characters }) => total + characters, 0)
}

function summaryIn(prompt: LanguageModelV4Prompt): string | null {
  const texts = prompt.slice(0, 2).map(textOf)
  return texts.find((text) => text.startsWith(summaryHeading)) ?? null
}

function textOf({ content }: LanguageModelV4Message): string {
  const [first] = typeof content === 'string' ? [] : content
  return first?.type === 'text' ? first.text : ''
}
