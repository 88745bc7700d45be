import type { NewEvent } from '../../src/log/events.ts'
import type { ConversationState } from '../../src/log/state.ts'
import { toolResult, userMsg } from '../../src/log/validate-event.ts'
import { called, ended, replied, stateOf } from '../log/story.ts'

/** A turn with one call of a tool. `tokens` is about what its result takes. */
export type ToolTurn = { readonly tool?: string; readonly tokens?: number; readonly isOpen?: boolean }

/** A conversation of turns that are all alike but for what is said here; turn n is 't1', 't2' ... with call 'c1', 'c2' ... */
export function toolTurns(turns: readonly ToolTurn[]): ConversationState {
  return stateOf(eventsOf(turns))
}

export function eventsOf(turns: readonly ToolTurn[]): NewEvent[] {
  const events: NewEvent[] = []
  for (const [index, { tool = 'look', tokens = 10, isOpen = false }] of turns.entries()) {
    const [turnId, callId] = [`t${index + 1}`, `c${index + 1}`]
    events.push(
      userMsg({ turnId, message: { parts: [{ type: 'text', text: 'Look it up, please.' }] }, options: {}, who: 'ann' }),
    )
    events.push(replied(turnId, `m${index + 1}`, events.length, { calls: [callId] }))
    events.push(called(callId, { turnId, name: tool, args: { n: index } }))
    events.push(toolResult({ callId, ok: true, result: 'word '.repeat(tokens) }))
    if (!isOpen) events.push(replied(turnId, `m${index + 1}b`, events.length), ended(turnId))
  }
  return events
}
