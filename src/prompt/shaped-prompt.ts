import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { HookError } from '../base/errors/definition-errors.ts'
import { ContextOverflowError } from '../base/errors/model-errors.ts'
import type { Agent } from '../define/agent.ts'
import { demandedTool } from '../define/language-model.ts'
import type { Shape } from '../define/shape.ts'
import type { ContextMessage } from '../define/turn.ts'
import type { ModelRef, UserPart } from '../log/events.ts'
import { countMessage, countParts, countTools, estimateTokens } from './budget/count-tokens.ts'
import { limitsOf } from './budget/reduce.ts'
import { copyOf, renderUserParts } from './render/render-turn.ts'
import { problemsFor } from './validate-prompt.ts'

/** The agent as it is for a model call that hooks have shaped. */
export function shapedAgent<A extends Pick<Agent, 'tools' | 'settings'>>(agent: A, shape: Shape | null): A {
  if (!shape) return agent
  const { tools: names, settings } = shape
  const tools = names ? agent.tools.filter(({ name }) => names.includes(name)) : agent.tools
  return { ...agent, tools, settings: settings ? { ...agent.settings, ...settings } : agent.settings }
}

/** What is wrong with the tools and settings of a shape, as text that follows the name of the hook; null when nothing is. */
export function shapeProblem(agent: Pick<Agent, 'tools' | 'settings'>, shape: Shape): string | null {
  const known = agent.tools.map(({ name }) => name)
  const available = known.length > 0 ? `available: ${known.join(', ')}` : 'it has no tools'
  const unknown = shape.tools?.find((name) => !known.includes(name))
  if (unknown !== undefined) return `shaped 'tools' with '${unknown}', which is no tool of this agent (${available})`
  const { tools, settings } = shapedAgent(agent, shape)
  const demanded = demandedTool(settings)
  if (demanded === undefined || tools.some(({ name }) => name === demanded)) return null
  return `shaped a call whose 'toolChoice' demands '${String(demanded)}', which is not among its tools; shape both`
}

export type ShapedMessages = {
  readonly messages: readonly ContextMessage[]
  /** The hook that gave them. */
  readonly hook: string
  readonly injections: readonly UserPart[]
  /** The model that is called, then those that are tried after it. */
  readonly models: readonly ModelRef[]
  readonly blobs: ReadonlyMap<string, Uint8Array>
}

export type ShapedPrompt = {
  readonly prompt: (model: ModelRef) => LanguageModelV4Prompt
  /** Tokens, before they are corrected. */
  readonly estimated: number
}

/**
 * The prompt of a call whose messages a hook has given: these, and the injections after them. Throws `HookError` when a
 * provider would refuse it, and `ContextOverflowError` when it does not fit. `factor` corrects the estimate.
 */
export function shapedPrompt(
  given: ShapedMessages,
  agent: Pick<Agent, 'tools' | 'settings' | 'context'>,
  factor: number,
): ShapedPrompt {
  const { messages, hook, injections, models } = given
  const prompt = (model: ModelRef): LanguageModelV4Prompt => render(given, model)
  for (const model of models) {
    const [problem] = problemsFor(model, prompt(model))
    if (problem === undefined) continue
    throw new HookError(hook, `shaped 'messages' that '${model.provider}' would refuse: ${problem}`)
  }
  const tokenizer = agent.context.tokenizer ?? estimateTokens
  const size = (messages as LanguageModelV4Prompt).reduce((sum, message) => sum + countMessage(message, tokenizer), 0)
  const [injected, tools] = [countParts(injections, tokenizer), countTools(agent.tools, tokenizer)]
  const estimated = size + injected + tools
  const tokens = Math.round(estimated * factor)
  const { ceiling } = limitsOf(agent, models[0]!)
  if (tokens <= ceiling) return { prompt, estimated }
  throw new ContextOverflowError(tokens, ceiling, [
    `the messages that the hook '${hook}' shaped: ${size} tokens`,
    `the injections of this call: ${injected} tokens`,
    `the descriptions of ${agent.tools.length} tools: ${tools} tokens`,
  ])
}

/** Each prompt has its own objects, because its receiver may change them. */
function render({ messages, injections, models, blobs }: ShapedMessages, model: ModelRef): LanguageModelV4Prompt {
  const isFirst = model.provider === models[0]!.provider
  const own = (messages as LanguageModelV4Prompt).map((message) =>
    copyOf(isFirst ? message : withoutReasoning(message)),
  )
  const injected = renderUserParts(injections, blobs)
  return injected.length > 0 ? [...own, { role: 'user', content: injected }] : own
}

/** Reasoning goes back only to the provider that made it. */
function withoutReasoning(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role !== 'assistant') return message
  return { ...message, content: message.content.filter((part) => part.type !== 'reasoning') }
}
