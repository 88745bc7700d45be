import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ModelRef, UserPart } from '../../log/events.ts'
import type { TurnState } from '../../log/state.ts'
import type { CallIds } from './call-ids.ts'
import { orderedItems } from './ordered-items.ts'
import type { Reduction } from './reduction.ts'
import { renderAssistant } from './render-assistant.ts'
import { renderUserParts } from './render-user.ts'

export type TurnRendering = {
  readonly model: ModelRef
  readonly stubbed: Reduction['stubbed']
  readonly blobs?: ReadonlyMap<string, Uint8Array> | undefined
}

/** May have messages of users with nothing in them: see `fillGaps`. */
export function renderTurn(turn: TurnState, options: TurnRendering, callIds: CallIds): LanguageModelV4Message[] {
  const { model, stubbed, blobs } = options
  const rendering = { model, stubbed, calls: turn.calls, callIds }
  const messages: LanguageModelV4Message[] = []
  const addUser = (parts: readonly UserPart[]): void => {
    messages.push({ role: 'user', content: renderUserParts(parts, blobs) })
  }
  for (const item of orderedItems(turn)) {
    if (item.type === 'user') addUser(item.message.parts)
    else if (item.type === 'injection') addUser(item.parts)
    else if (item.regeneration) addUser([{ type: 'text', text: item.regeneration.feedback }])
    else {
      const { content, results } = renderAssistant(item, rendering)
      if (content.length === 0) continue
      messages.push({ role: 'assistant', content })
      if (results.length > 0) messages.push({ role: 'tool', content: results })
      // A fork may begin between a message and its calls; what is asked next then has nothing to answer.
      else if (item.parts.some((part) => part.type === 'call')) addUser([])
    }
  }
  return messages
}
