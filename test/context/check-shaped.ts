import { HookError } from '../../src/base/errors/definition-errors.ts'
import { contextSettings } from '../../src/define/agent.ts'
import type { ModelPrompt } from '../../src/define/language-model.ts'
import { systemScope } from '../../src/define/scope.ts'
import { shape } from '../../src/define/shape.ts'
import { createTurn } from '../../src/define/turn.ts'
import type { ModelRef } from '../../src/log/events.ts'
import { shapedPrompt } from '../../src/prompt/shaped-prompt.ts'
import { type PromptProvider, validatePrompt } from '../../src/testing/validate-prompt.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { models } from './message-generator.ts'

export type ShapedOutcome =
  | { readonly type: 'refused' }
  | { readonly type: 'sent'; readonly problems: readonly string[] }

const agent = { tools: [], settings: {}, context: contextSettings({ ceiling: 10_000_000 }) }

/**
 * Shapes a prompt as a hook might: messages dropped, doubled, swapped, written anew. What is sent after that is legal for the model and for its
 * fallback, and what is legal as it is, is sent.
 */
export function checkShaped(prompt: ModelPrompt, model: ModelRef, random: SeededRandom): ShapedOutcome {
  const messages = reshaped(prompt, random)
  const fallback = random.pick(models)
  const injections = random.chance(0.3) ? [{ type: 'text' as const, text: 'injected' }] : []
  const given = shape(createTurn({ scope: systemScope(), context: prompt }), { messages }).context
  const shaped = { messages: given, hook: 'odd', injections, models: [model, fallback], blobs: new Map() }
  try {
    const made = shapedPrompt(shaped, agent, 1)
    const problems = [model, fallback].flatMap((called) => validatePrompt(made.prompt(called), providerOf(called)))
    return { type: 'sent', problems }
  } catch (error) {
    if (!HookError.isInstance(error)) throw error
    // Without a fallback, only what this very provider would refuse is refused.
    const whole = injections.length > 0 ? [...messages, injected] : messages
    const isLegal = [model, fallback].every(
      (called) => validatePrompt(stripped(whole, model, called), providerOf(called)).length === 0,
    )
    return isLegal
      ? { type: 'sent', problems: [`refused although it is legal: ${String(error)}`] }
      : { type: 'refused' }
  }
}

const injected: ModelPrompt[number] = { role: 'user', content: [{ type: 'text', text: 'injected' }] }

function stripped(messages: ModelPrompt, first: ModelRef, called: ModelRef): ModelPrompt {
  if (first.provider === called.provider) return messages
  return messages.map((message) => {
    if (message.role !== 'assistant') return message
    return { ...message, content: message.content.filter((part) => part.type !== 'reasoning') }
  })
}

function reshaped(prompt: ModelPrompt, random: SeededRandom): ModelPrompt {
  const messages = [...prompt]
  for (let change = random.int(0, 2); change > 0; change--) {
    const at = random.int(0, Math.max(0, messages.length - 1))
    const message = messages[at]
    if (message === undefined) break
    const kind = random.pick(['drop', 'head', 'double', 'swap', 'text', 'empty'] as const)
    if (kind === 'drop') messages.splice(at, 1)
    if (kind === 'head') messages.splice(0, at)
    if (kind === 'double') messages.splice(at, 0, message)
    if (kind === 'swap') messages.splice(0, 0, ...messages.splice(at, 1))
    if (kind === 'text') messages[at] = { role: 'user', content: [{ type: 'text', text: 'in other words' }] }
    if (kind === 'empty') messages[at] = { role: 'user', content: [] }
  }
  return messages
}

function providerOf({ provider }: ModelRef): PromptProvider {
  return provider.split('.')[0] as PromptProvider
}
