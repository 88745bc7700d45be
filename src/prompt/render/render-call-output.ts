import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { callEnd } from '../../log/call-phase.ts'
import type { CallState } from '../../log/state.ts'
import { wellFormed } from './well-formed.ts'

/** What the model reads as the result of a call. An open call has a placeholder, because a call without a result is not a legal prompt. */
export function renderCallOutput(call: CallState): LanguageModelV4ToolResultOutput {
  const end = callEnd(call)
  if (!end) return { type: 'text', value: '[no result yet: the call is still open]' }
  const edited = call.rounds.findLast((round) => round.resolution?.edited)?.resolution?.edited
  const note = edited
    ? `A person changed the arguments to ${JSON.stringify(wellFormed(edited.after))} before it ran. `
    : ''
  if (!end.ok) {
    const error = end.error.trim() === '' ? 'it failed and did not say why' : end.error.toWellFormed()
    return { type: 'error-text', value: `${note}${error}${outcomeNote(end.outcome)}` }
  }
  const result = wellFormed(end.result)
  if (edited) return { type: 'json', value: { note: note.trim(), result } as never }
  // An empty text is not content to every provider; as JSON it has its quotes.
  const isText = typeof result === 'string' && result.trim() !== ''
  return isText ? { type: 'text', value: result } : { type: 'json', value: result as never }
}

function outcomeNote(outcome: 'unknown' | 'ran' | undefined): string {
  if (outcome === 'unknown') return ' (outcome: unknown)'
  return outcome === 'ran' ? ' (outcome: ran)' : ''
}
