import { type ConversationState, findCall } from '../../../src/log/state.ts'
import type { Scenario } from '../scenarios/scenario.ts'
import { isMarked, type Line, transcript } from './transcript.ts'

/** What people read is what they read when nothing goes wrong, but for calls that carry the marker because they were interrupted. */
export function checkTranscript(
  scenario: Scenario,
  state: ConversationState,
  interrupted: ReadonlySet<string>,
): string[] {
  const lines = transcript(state)
  const isFit = scenario.transcripts.some((expected) => fits(expected, lines, state, interrupted))
  if (isFit) return []
  const read = lines.map(({ text }) => text).join(' | ')
  return [`the transcript is neither the one without a crash nor excused: ${read}`]
}

function fits(
  expected: readonly string[],
  lines: readonly Line[],
  state: ConversationState,
  interrupted: ReadonlySet<string>,
): boolean {
  if (expected.length !== lines.length) return false
  return lines.every((line, index) => {
    const wanted = expected[index]!
    return wanted === line.text || (isMarked(line) && isExcused(line, wanted, state, interrupted))
  })
}

function isExcused(
  { callId, tool }: Line,
  wanted: string,
  state: ConversationState,
  interrupted: ReadonlySet<string>,
): boolean {
  if (callId === undefined || !wanted.startsWith(`${tool} = `)) return false
  return interrupted.has(callId) || findCall(state, callId)?.turn.cancel !== null
}
