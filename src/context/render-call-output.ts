import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { callEnd } from '../log/call-phase.ts'
import type { CallState } from '../log/state.ts'

/** What the model reads as the result of a call. An open call has a placeholder, because a call without a result is not a legal prompt. */
export function renderCallOutput(call: CallState): LanguageModelV4ToolResultOutput {
  const end = callEnd(call)
  if (!end) return { type: 'text', value: '[no result yet: the call is still open]' }
  const edited = call.rounds.findLast((round) => round.resolution?.edited)?.resolution?.edited
  const note = edited ? `A person changed the arguments to ${JSON.stringify(edited.after)} before the tool ran. ` : ''
  if (!end.ok) return { type: 'error-text', value: `${note}${end.error}${outcomeNote(end.outcome)}` }
  if (edited) return { type: 'json', value: { note: note.trim(), result: end.result as never } }
  return typeof end.result === 'string'
    ? { type: 'text', value: end.result }
    : { type: 'json', value: end.result as never }
}

function outcomeNote(outcome: 'unknown' | 'ran' | undefined): string {
  if (outcome === 'unknown') return ' (outcome: unknown)'
  return outcome === 'ran' ? ' (outcome: ran)' : ''
}
