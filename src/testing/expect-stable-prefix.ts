import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { commonPrefix } from '../context/common-prefix.ts'

type Call = { readonly prompt: unknown }

export type StablePrefixOptions = {
  /** How many times the prefix may move: once for each reduction the test expects. Default: 0. */
  readonly reductions?: number
}

/**
 * Throws when a prompt does not begin with the whole of the one before (but for its last message, where injections are), more often than
 * reductions explain. What moves the prefix makes the provider's cache useless: a hook, a reducer, instructions that change.
 */
export function expectStablePrefix(calls: readonly Call[], { reductions = 0 }: StablePrefixOptions = {}): void {
  const broken: string[] = []
  for (const [index, call] of calls.entries()) {
    const before = calls[index - 1]?.prompt as LanguageModelV4Prompt | undefined
    if (!before) continue
    const { messages, brokenBy } = commonPrefix(before, call.prompt as LanguageModelV4Prompt)
    // Injections are at the very end and are gone in the next prompt.
    if (brokenBy !== null && messages < before.length - 1) broken.push(`call ${index + 1}: ${brokenBy}`)
  }
  if (broken.length <= reductions) return
  throw new Error(
    `The prompt prefix moved ${broken.length} times, ${reductions} were expected. ${broken.join('; ')}. Put what changes into an injection.`,
  )
}
