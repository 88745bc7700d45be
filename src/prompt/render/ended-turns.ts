import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import type { ModelRef } from '../../log/events.ts'
import type { TurnState } from '../../log/state.ts'
import { CallIds } from './call-ids.ts'
import { ownCopy } from './own-copy.ts'
import type { Reduction } from './reduction.ts'
import { renderTurn } from './render-turn.ts'

export type RenderedTurns = {
  /** How many of the turns they are of. */
  readonly count: number
  readonly messages: readonly LanguageModelV4Message[]
  /** Those the messages use. */
  readonly callIds: CallIds | null
}

export const noTurns: RenderedTurns = { count: 0, messages: [], callIds: null }

type Kept = {
  readonly turns: TurnState[]
  readonly messages: LanguageModelV4Message[]
  readonly callIds: CallIds
  readonly model: ModelRef
  readonly stubbed: Reduction['stubbed']
}

/**
 * How the turns that begin a prompt are rendered, kept from one prompt of a conversation to the next: a turn that has ended does not change,
 * and prompts mostly grow at their end.
 */
export class EndedTurns {
  #kept: Kept | null = null

  /** Of as many of the first turns as have ended and show no files, whose bytes are not kept here. The messages are the caller's own. */
  of(turns: readonly TurnState[], model: ModelRef, stubbed: Reduction['stubbed']): RenderedTurns {
    const last = this.#kept
    // A turn that cannot be rendered may have used ids already: nothing is kept then.
    this.#kept = null
    const isUsable = last && isFor(last, model, stubbed) && beginsWith(turns, last.turns)
    const kept = isUsable ? last : { turns: [], messages: [], callIds: new CallIds(), model, stubbed }
    for (const turn of turns.slice(kept.turns.length)) {
      if (!turn.end || hasFiles(turn)) break
      kept.messages.push(...renderTurn(turn, { model, stubbed }, kept.callIds))
      kept.turns.push(turn)
    }
    this.#kept = kept
    return { count: kept.turns.length, messages: kept.messages.map(opened), callIds: kept.callIds }
  }

  /** How many of the first turns are known to show no files. */
  countWithoutFiles(turns: readonly TurnState[]): number {
    return this.#kept && beginsWith(turns, this.#kept.turns) ? this.#kept.turns.length : 0
  }
}

export function beginsWith(turns: readonly TurnState[], first: readonly TurnState[]): boolean {
  return first.length <= turns.length && first.every((turn, index) => turn === turns[index])
}

function isFor(kept: Kept, model: ModelRef, stubbed: Reduction['stubbed']): boolean {
  const isSameModel = kept.model.provider === model.provider && kept.model.modelId === model.modelId
  return isSameModel && kept.stubbed === stubbed
}

function hasFiles(turn: TurnState): boolean {
  return turn.items.some((item) => {
    if (item.type === 'assistant') return false
    return (item.type === 'user' ? item.message.parts : item.parts).some((part) => part.type === 'file')
  })
}

/** Each prompt has objects of its own, down to arguments and results: whoever is given it may change it. */
function opened(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'system') return { ...message }
  return { ...message, content: message.content.map(ownPart) } as LanguageModelV4Message
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number]

function ownPart(part: Part): Part {
  const copy = { ...part }
  if (copy.type === 'tool-call') copy.input = ownCopy(copy.input as Json)
  else if (copy.type === 'tool-result') copy.output = ownCopy(copy.output as Json) as typeof copy.output
  if (copy.providerOptions) copy.providerOptions = ownCopy(copy.providerOptions as Json) as typeof copy.providerOptions
  return copy
}
