import { callEnd } from '../../../src/log/call-phase.ts'
import type { AssistantPart, UserPart } from '../../../src/log/events.ts'
import type { AssistantItem, CallState, ConversationState, TurnItem, TurnState } from '../../../src/log/state.ts'
import { orderedItems } from '../../../src/prompt/render/render-turn.ts'

/** A line of what people read in the end. `callId` where it tells of the end of a call. */
export type Line = { readonly text: string; readonly callId?: string; readonly tool?: string }

/** Without ids and times, so that two runs can be compared. What was said of a message before it was cancelled is left out. */
export function transcript(state: ConversationState): Line[] {
  return state.turns.flatMap((turn) => [...orderedItems(turn).flatMap((item) => linesOf(item, turn)), lineOfEnd(turn)])
}

function linesOf(item: TurnItem, turn: TurnState): Line[] {
  switch (item.type) {
    case 'user':
      return [{ text: `user: ${textOf(item.message.parts)}` }]
    case 'injection':
      return [{ text: `${item.hook}: ${textOf(item.parts)}` }]
    case 'assistant':
      return item.status === 'cancelled' ? [] : linesOfMessage(item, turn)
  }
}

function linesOfMessage(item: AssistantItem, turn: TurnState): Line[] {
  const lines: Line[] = [{ text: `assistant: ${textOf(item.parts)}` }]
  if (item.regeneration) lines.push({ text: `feedback: ${item.regeneration.feedback.split(':')[0]}` })
  if (item.object !== undefined) lines.push({ text: `object: ${JSON.stringify(item.object)}` })
  for (const part of item.parts) {
    const call = part.type === 'call' && turn.calls.find((candidate) => candidate.callId === part.callId)
    if (call) lines.push(lineOfCall(call))
  }
  return lines
}

function lineOfCall(call: CallState): Line {
  const { callId, name: tool } = call
  return { text: `${tool}${endOf(call)}`, callId, tool }
}

function endOf(call: CallState): string {
  const end = callEnd(call)
  if (!end) return ' has not ended'
  if (end.outcome === 'unknown') return unknown
  // Which process a child agent worked in is not the same in two runs.
  return end.ok ? ` = ${JSON.stringify(end.result).replace(/by worker \d+/, 'by a worker')}` : ` failed: ${end.error}`
}

const unknown = ' is unknown'

/** The declared marker: it was started, and its outcome is unknown. */
export function isMarked({ text, tool }: Line): boolean {
  return tool !== undefined && text === `${tool}${unknown}`
}

function lineOfEnd({ end }: TurnState): Line {
  return { text: end ? end.status : 'has not ended' }
}

function textOf(parts: readonly (UserPart | AssistantPart)[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
