import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ModelRef } from '../../log/events.ts'
import type { ConversationState, TurnState } from '../../log/state.ts'
import { CallIds } from '../render/call-ids.ts'
import { renderSeed, renderSummary } from '../render/render-context.ts'
import { beginsWith, renderTurn } from '../render/render-turn.ts'
import { transcript } from '../render/transcript.ts'
import { countMessage, type Tokenizer } from './count-tokens.ts'
import {
  isInWindow,
  isSummarised,
  type ReduceInput,
  type Reduction,
  visibleTurns,
  withStubs,
  withSummary,
} from './reduce.ts'

/** Token counts of a conversation's turns. Ended turns do not change, so most are counted and added up only once. */
export class TurnSizes {
  /** By the results that are stubbed. */
  byTurn = new WeakMap<TurnState, Map<string, number>>()
  /** The turns that began the last prompt. */
  sum: { readonly turns: TurnState[]; readonly stubbed: Reduction['stubbed']; tokens: number } | null = null
  #tokenizer: Tokenizer | null = null
  #model: ModelRef | null = null

  /** A conversation may pass to another agent with another tokenizer, or with a model that sees other parts. */
  countedFor(tokenizer: Tokenizer, model: ModelRef): this {
    const { provider, modelId } = this.#model ?? {}
    if (this.#tokenizer !== tokenizer || provider !== model.provider || modelId !== model.modelId) {
      this.byTurn = new WeakMap()
      this.sum = null
    }
    this.#tokenizer = tokenizer
    this.#model = model
    return this
  }
}

/** Sizes of prompts from their turns, so that a reduction can be tried without rendering it. */
export class PromptSize {
  readonly #tokenizer: Tokenizer
  readonly #model: ModelRef
  readonly #fixed: number
  readonly #counted: TurnSizes
  #last: { readonly state: ConversationState; readonly reduction: Reduction; readonly tokens: number } | null = null

  /** `fixed`: tokens that every prompt has, such as instructions and tool descriptions. */
  constructor(tokenizer: Tokenizer, model: ModelRef, fixed: number, counted: TurnSizes) {
    this.#tokenizer = tokenizer
    this.#model = model
    this.#fixed = fixed
    this.#counted = counted.countedFor(tokenizer, model)
  }

  of(state: ConversationState, reduction: Reduction): number {
    if (this.#last?.state === state && this.#last.reduction === reduction) return this.#last.tokens
    let tokens = this.#fixed
    const head = [...renderSummary(reduction), ...renderSeed(state, reduction)]
    for (const message of head) tokens += countMessage(message, this.#tokenizer)
    tokens += this.#ofTurns(visibleTurns(state.turns, reduction), reduction)
    this.#last = { state, reduction, tokens }
    return tokens
  }

  ofText(text: string): number {
    return this.#tokenizer(text)
  }

  ofTurn(turn: TurnState, { stubbed }: Pick<Reduction, 'stubbed'>): number {
    const key = stubbed.size === 0 ? '' : stubsIn(turn, stubbed)
    const known = this.#counted.byTurn.get(turn)
    const counted = known?.get(key)
    if (counted !== undefined) return counted
    const tokens = sum(renderTurn(turn, { model: this.#model, stubbed }, new CallIds()), this.#tokenizer)
    if (known) known.set(key, tokens)
    else this.#counted.byTurn.set(turn, new Map([[key, tokens]]))
    return tokens
  }

  #ofTurns(turns: readonly TurnState[], { stubbed }: Pick<Reduction, 'stubbed'>): number {
    const last = this.#counted.sum
    const sum = last?.stubbed === stubbed && beginsWith(turns, last.turns) ? last : { turns: [], stubbed, tokens: 0 }
    this.#counted.sum = sum
    let open = 0
    for (const turn of turns.slice(sum.turns.length)) {
      const tokens = this.ofTurn(turn, { stubbed })
      if (turn.end && open === 0) {
        sum.turns.push(turn)
        sum.tokens += tokens
      } else open += tokens
    }
    return sum.tokens + open
  }
}

function stubsIn(turn: TurnState, stubbed: Reduction['stubbed']): string {
  return turn.calls.flatMap(({ callId }) => (stubbed.has(callId) ? [callId] : [])).join()
}

function sum(messages: readonly LanguageModelV4Message[], tokenizer: Tokenizer): number {
  return messages.reduce((tokens, message) => tokens + countMessage(message, tokenizer), 0)
}

export type PlanInput = ReduceInput & {
  readonly size: PromptSize
  /** Corrects the estimates. */
  readonly factor: number
  /** False: no model writes summaries; only turns outside the window are dropped. */
  readonly isSummarised: boolean
}

/** Summarising begins before the budget is full, so that the summary is ready when the reduction needs it. */
const readyShare = 0.8
/** The expected size of a summary, as a share of the budget. */
export const summaryShare = 0.1
/** How far the budget is expected to be exceeded. */
const overshootShare = 0.05

/**
 * The ended turns, oldest first, that the next summary must cover; none while stubs suffice. These are the turns
 * outside the window, and those that must be dropped to reach the target once the budget is full. Pure.
 */
export function planSummary(input: PlanInput): TurnState[] {
  const { state, reduction, latest, settings, limits, count, size, factor } = input
  const now = count(reduction)
  const isDue = input.isSummarised && now >= limits.budget * readyShare
  const open = state.turns.filter((turn) => turn.opened && !isSummarised(turn, latest))
  const [oldest] = open
  if (!isDue && (!oldest?.end || isInWindow(oldest, reduction))) return []
  const planned = withSummary(withStubs(reduction, input), input)
  // Turns that are still to come before the reduction cannot be summarised yet.
  const growth = Math.max(0, limits.budget - now)
  const room = limits.target - growth - limits.budget * (summaryShare + overshootShare)
  let rest = count(planned)
  let toRead = 0
  const span: TurnState[] = []
  for (const turn of open) {
    const isShown = isInWindow(turn, reduction)
    const isTooMuch = isDue && (rest > room || open.length - span.length > settings.windowTurns)
    if (!turn.end || (isShown && !isTooMuch)) break
    // More text than one prompt can hold is summarised in several steps.
    toRead += size.ofText(transcript([turn])) * factor
    if (input.isSummarised && span.length > 0 && toRead > limits.budget) break
    span.push(turn)
    if (isInWindow(turn, planned)) rest -= size.ofTurn(turn, planned) * factor
  }
  return span
}
