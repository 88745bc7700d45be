import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { ContextOverflowError } from '../base/errors/context-errors.ts'
import type { Agent } from '../define/agent.ts'
import type { ModelRef, UserPart } from '../log/events.ts'
import type { ConversationState } from '../log/state.ts'
import { biggestParts } from './budget/biggest-parts.ts'
import type { Calibration } from './budget/calibration.ts'
import { countParts, countTools } from './budget/count-tokens.ts'
import { estimateTokens } from './budget/estimate-tokens.ts'
import { limitsOf } from './budget/limits.ts'
import { PromptSize, type TurnSizes } from './budget/prompt-size.ts'
import { type ReduceInput, reduce } from './budget/reduce.ts'
import type { EndedTurns } from './render/ended-turns.ts'
import type { Reduction } from './render/reduction.ts'
import { renderContext } from './render/render-context.ts'

export type AssembleInput = {
  readonly state: ConversationState
  readonly agent: Agent
  readonly system: string
  readonly model: ModelRef
  readonly injections: readonly UserPart[]
  readonly reduction: Reduction
  readonly latest: Reduction['summary']
  readonly calibration: Calibration
  readonly turnSizes: TurnSizes
  readonly endedTurns: EndedTurns
}

export type Assembly = {
  readonly prompt: (model: ModelRef, blobs: ReadonlyMap<string, Uint8Array>) => LanguageModelV4Prompt
  readonly reduction: Reduction
  readonly hasReduced: boolean
  /** Uncorrected, with injections: what `calibrate` compares with the provider's count. */
  readonly estimated: number
  /** What `planSummary` goes by. */
  readonly reduced: ReduceInput & { readonly size: PromptSize; readonly factor: number }
  /** It does not fit under the ceiling, whatever is left out; must be thrown before a provider is called. */
  readonly overflow: ContextOverflowError | null
}

/** Decides what the next model call sees. Pure. */
export function assemblePrompt(input: AssembleInput): Assembly {
  const { state, agent, system, model, injections, calibration } = input
  const { factor } = calibration
  const tokenizer = agent.context.tokenizer ?? estimateTokens
  const limits = limitsOf(agent, model)
  const fixed = tokenizer(system) + countTools(agent.tools, tokenizer)
  const size = new PromptSize(tokenizer, model, fixed, input.turnSizes)
  const count = (candidate: Reduction): number => size.of(state, candidate) * factor
  const given = { state, latest: input.latest, settings: agent.context, tools: agent.toolSet, limits, count }
  const reduction = reduce({ ...given, reduction: input.reduction })
  const estimated = size.of(state, reduction) + countParts(injections, tokenizer)
  const tokens = Math.round(estimated * factor)
  const isOver = tokens > limits.ceiling
  return {
    prompt: (target, blobs) =>
      renderContext(state, { system, model: target, injections, blobs, reduction, ended: input.endedTurns }),
    reduction,
    hasReduced: reduction !== input.reduction,
    estimated,
    reduced: { ...given, reduction, size, factor },
    overflow: isOver
      ? new ContextOverflowError(tokens, limits.ceiling, biggestParts({ ...input, reduction }, tokenizer))
      : null,
  }
}
