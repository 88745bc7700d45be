import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ModelRef } from '../../log/events.ts'
import type { ConversationState, TurnState } from '../../log/state.ts'
import { CallIds } from '../render/call-ids.ts'
import { beginsWith } from '../render/ended-turns.ts'
import { type Reduction, visibleTurns } from '../render/reduction.ts'
import { renderSummary } from '../render/render-context.ts'
import { renderSeed } from '../render/render-seed.ts'
import { renderTurn } from '../render/render-turn.ts'
import { countMessage, type Tokenizer } from './count-tokens.ts'

/** Tokens of the turns of a conversation. Turns do not change once they have ended, so most are counted once, and added up once. */
export class TurnSizes {
  /** By what is stubbed in them. */
  byTurn = new WeakMap<TurnState, Map<string, number>>()
  /** Of the turns that began the last prompt. */
  sum: { readonly turns: TurnState[]; readonly stubbed: Reduction['stubbed']; tokens: number } | null = null
  #tokenizer: Tokenizer | null = null
  #model: ModelRef | null = null

  /** A conversation may be given to another agent, which counts otherwise, or whose model is shown other parts. */
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

/** Counts prompts by their turns, so that trying out a reduction does not render it. */
export class PromptSize {
  readonly #tokenizer: Tokenizer
  readonly #model: ModelRef
  readonly #fixed: number
  readonly #counted: TurnSizes
  #last: { readonly state: ConversationState; readonly reduction: Reduction; readonly tokens: number } | null = null

  /** `fixed`: what every prompt has, as instructions and the descriptions of tools. */
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
