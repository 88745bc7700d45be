import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Agent } from '../agent/agent.ts'
import { ContextOverflowError } from '../errors/context-errors.ts'
import type { ModelRef, UserPart } from '../log/events.ts'
import type { ConversationState } from '../log/state.ts'
import { biggestParts } from './biggest-parts.ts'
import type { Calibration } from './calibration.ts'
import { countParts, estimateTokens } from './count-tokens.ts'
import { PromptSize, type TurnSizes } from './prompt-size.ts'
import { budgetOf, reduce } from './reduce.ts'
import type { Reduction, SummaryText } from './reduction.ts'
import { renderContext } from './render-context.ts'
import { windowOf } from './window-of.ts'

export type Assembly = {
  readonly prompt: (model: ModelRef, blobs: ReadonlyMap<string, Uint8Array>) => LanguageModelV4Prompt
  readonly reduction: Reduction
  readonly hasReduced: boolean
  /** Uncorrected, with injections: what `calibrate` compares with the provider's count. */
  readonly estimated: number
  /** How full the budget is, after reducing. */
  readonly share: number
}

export type AssembleInput = {
  readonly state: ConversationState
  readonly agent: Agent
  readonly system: string
  readonly model: ModelRef
  readonly injections: readonly UserPart[]
  readonly reduction: Reduction
  readonly latestSummary: SummaryText | null
  readonly calibration: Calibration
  readonly turnSizes: TurnSizes
}

/** Decides what the next model call sees. Pure. Throws `ContextOverflowError` when it does not fit under the ceiling whatever is left out. */
export function assemblePrompt(input: AssembleInput): Assembly {
  const { state, agent, system, model, injections, calibration } = input
  const settings = agent.context
  const tokenizer = settings.tokenizer ?? estimateTokens
  const size = new PromptSize(tokenizer, model, tokenizer(system) + toolTokens(agent, tokenizer), input.turnSizes)
  const count = (candidate: Reduction) => size.of(state, candidate) * calibration.factor
  const reduction = reduce(
    { state, reduction: input.reduction, settings, tools: agent.toolSet, count },
    input.latestSummary,
  )
  const estimated = size.of(state, reduction) + countParts(injections, tokenizer)
  const ceiling = settings.ceiling ?? windowOf(model)
  if (estimated * calibration.factor > ceiling) {
    throw new ContextOverflowError(
      Math.round(estimated * calibration.factor),
      ceiling,
      biggestParts(state, reduction, tokenizer),
    )
  }
  return {
    prompt: (target, blobs) => renderContext(state, { system, model: target, injections, blobs, reduction }),
    reduction,
    hasReduced: reduction !== input.reduction,
    estimated,
    share: count(reduction) / budgetOf(settings),
  }
}

function toolTokens(agent: Agent, tokenizer: (text: string) => number): number {
  let tokens = 0
  for (const tool of agent.tools) {
    const schema = 'inputJsonSchema' in tool ? JSON.stringify(tool.inputJsonSchema) : ''
    tokens += tokenizer(tool.name) + tokenizer(tool.description) + tokenizer(schema)
  }
  return tokens
}
