import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { ContextOverflowError } from '../base/errors/model-errors.ts'
import { Lru } from '../base/lru.ts'
import type { Agent } from '../define/agent.ts'
import type { LanguageModel } from '../define/language-model.ts'
import type { ModelRef, UserPart } from '../log/events.ts'
import { type ConversationState, stateSince, type TurnState } from '../log/state.ts'
import { conversationKey, type Summary } from '../store/records.ts'
import type { Origin, WorkingSet } from '../store/working-sets.ts'
import {
  type Calibration,
  countParts,
  countTools,
  estimateTokens,
  type Tokenizer,
  uncalibrated,
} from './budget/count-tokens.ts'
import { PromptSize, TurnSizes } from './budget/prompt-size.ts'
import {
  limitsOf,
  noReduction,
  type ReduceInput,
  type Reduction,
  reduce,
  type SummaryText,
  visibleTurns,
} from './budget/reduce.ts'
import type { PromptTrace } from './common-prefix.ts'
import { renderCallOutput } from './render/render-assistant.ts'
import { renderContext } from './render/render-context.ts'
import { EndedTurns } from './render/render-turn.ts'

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
  /** The uncorrected estimate with injections, which `calibrate` compares with the provider's count. */
  readonly estimated: number
  /** The input of `planSummary`. */
  readonly reduced: ReduceInput & { readonly size: PromptSize; readonly factor: number }
  /** Set when the prompt cannot fit under the ceiling. Must be thrown before a provider is called. */
  readonly overflow: ContextOverflowError | null
}

/** Decides the prompt of the next model call. Pure. */
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

type Part = { readonly name: string; readonly tokens: number }

type PromptContents = {
  readonly state: ConversationState
  readonly agent: Pick<Agent, 'tools'>
  readonly system: string
  readonly injections: readonly UserPart[]
  readonly reduction: Reduction
}

/** The largest parts of a prompt, described so that a developer can find them. */
export function biggestParts(contents: PromptContents, tokenizer: Tokenizer, most = 3): string[] {
  const { state, agent, system, injections, reduction } = contents
  const parts: Part[] = [
    { name: 'the instructions', tokens: tokenizer(system) },
    { name: `the descriptions of ${agent.tools.length} tools`, tokens: countTools(agent.tools, tokenizer) },
    { name: 'the summary', tokens: tokenizer(reduction.summary?.text ?? '') },
    { name: 'the injections of this call', tokens: countParts(injections, tokenizer) },
    ...visibleTurns(state.turns, reduction).flatMap((turn) => partsOfTurn(turn, reduction, tokenizer)),
  ]
  const biggest = parts.toSorted((left, right) => right.tokens - left.tokens).slice(0, most)
  return biggest.filter(({ tokens }) => tokens > 0).map(({ name, tokens }) => `${name}: ${tokens} tokens`)
}

function partsOfTurn({ items, calls }: TurnState, { stubbed }: Reduction, tokenizer: Tokenizer): Part[] {
  const said = items.map((item): Part => {
    if (item.type === 'user') return { name: `message ${item.seq}`, tokens: countParts(item.message.parts, tokenizer) }
    if (item.type === 'injection')
      return { name: `injection ${item.seq} of '${item.hook}'`, tokens: countParts(item.parts, tokenizer) }
    return { name: `answer ${item.seq}`, tokens: tokenizer(JSON.stringify(item.parts)) }
  })
  const kept = calls.filter((call) => !stubbed.has(call.callId))
  const results = kept.flatMap((call): Part[] => [
    { name: `arguments of '${call.name}' (${call.callId})`, tokens: tokenizer(JSON.stringify(call.args)) },
    { name: `result of '${call.name}' (${call.callId})`, tokens: tokenizer(JSON.stringify(renderCallOutput(call))) },
  ])
  return [...said, ...results]
}

/**
 * What this process remembers of the prompts of one conversation. It is only a cache: another node starts without it,
 * and only the provider's prompt cache is less effective.
 */
export type ContextMemory = {
  /** The origin of the working set that it belongs to. */
  origin: Origin | null
  reduction: Reduction
  calibration: Calibration
  /** The newest summary that this process knows. It is shown at the next reduction. */
  latestSummary: SummaryText | null
  /** The prompt of the previous call, to find what broke the common prefix. */
  lastPrompt: PromptTrace | null
  /** What the agent's function chose for the last model call; null for agents with one model. */
  model: LanguageModel | null
  isSummarising: boolean
  /** No new summary is requested before this seq, because the last request produced none. */
  summariseAtSeq: number
  /** A title is being generated. */
  isTitling: boolean
  turnSizes: TurnSizes
  endedTurns: EndedTurns
}

/**
 * Matches the memory with a working set. The memory of another log, or of a reloaded one, is reset to the working set's
 * base. Turns that a summary now covers are released.
 */
export function remember(memory: ContextMemory, workingSet: WorkingSet): WorkingSet {
  if (memory.origin !== workingSet.origin) {
    const summary = summaryText(workingSet.origin.summary)
    Object.assign(memory, beginning(), { origin: workingSet.origin, latestSummary: summary })
    memory.reduction = { ...noReduction, summary }
  }
  const { summary } = memory.reduction
  if (!summary || summary.toSeq <= (workingSet.origin.summary?.toSeq ?? 0)) return workingSet
  const { toSeq, version, text } = summary
  memory.origin = { summary: { toSeq, version, content: text } }
  const state = { ...stateSince(workingSet.state, toSeq), hasOlder: true }
  return { ...workingSet, state, origin: memory.origin }
}

export function summaryText(summary: Pick<Summary, 'toSeq' | 'version' | 'content'> | null): SummaryText | null {
  if (!summary) return null
  const { toSeq, version, content } = summary
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  return { toSeq, version, text: content === null ? '' : text }
}

/** The memories of the most recently used conversations. */
export class ContextMemories {
  readonly #kept: Lru<ContextMemory>

  constructor(limit = 200) {
    this.#kept = new Lru({ entries: limit })
  }

  of(tenant: string, id: string): ContextMemory {
    const key = conversationKey(tenant, id)
    const memory = this.#kept.get(key) ?? { ...beginning(), isSummarising: false, isTitling: false }
    this.#kept.set(key, memory)
    return memory
  }
}

function beginning(): Omit<ContextMemory, 'isSummarising' | 'isTitling'> {
  return {
    origin: null,
    reduction: noReduction,
    calibration: uncalibrated,
    latestSummary: null,
    summariseAtSeq: 0,
    lastPrompt: null,
    model: null,
    turnSizes: new TurnSizes(),
    endedTurns: new EndedTurns(),
  }
}
