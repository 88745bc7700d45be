import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { deepFreeze } from '../log/deep-freeze.ts'
import type { ModelRef } from '../log/events.ts'
import type { TurnState } from '../log/state.ts'
import { CallIds } from './call-ids.ts'
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
      const messages = renderTurn(turn, { model, stubbed }, kept.callIds)
      for (const message of messages) freezeInside(message)
      kept.messages.push(...messages)
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

/** Each prompt has messages and parts of its own; what is inside those, as arguments and results, all of them share. */
function opened(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'system') return { ...message }
  const content = message.content.map((part) =>
    part.type === 'tool-result' ? { ...part, output: { ...part.output } } : { ...part },
  )
  return { ...message, content } as LanguageModelV4Message
}

function freezeInside({ content }: LanguageModelV4Message): void {
  if (typeof content === 'string') return
  for (const part of content) {
    deepFreeze(part.providerOptions)
    if (part.type === 'tool-call') deepFreeze(part.input)
    if (part.type === 'tool-result') deepFreeze((part.output as { readonly value?: unknown }).value)
  }
}
