import { childIdOf, childTurnIdOf } from '../../../src/log/child-call.ts'
import type { LogEvent, NewEvent, Resolution } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import { findTurn, keptMessages, type TurnState } from '../../../src/log/state.ts'

/** Parent and child agree: what a call was told is how the log of its child ends, and every child that was started has ended. `logOf`: empty where there is none. */
export function checkFamily(log: readonly LogEvent[], logOf: (id: string) => readonly LogEvent[]): string[] {
  const problems: string[] = []
  for (const event of log) {
    if (event.type === 'tool_call' && event.content.executor === 'agent') {
      const { callId } = event.content
      const turn = turnOf(callId, logOf(childIdOf(callId)))
      if (turn && !turn.end) problems.push(`the child of ${callId} never ended`)
    }
    const told = toldBy(event)
    if (told) problems.push(...checkEnd(told, turnOf(told.callId, logOf(childIdOf(told.callId)))))
  }
  return problems
}

/** What a commit tells a parent must be in the log of the child by then: a process that died right after it, or had lost the child, would have told a lie. */
export async function checkTelling(
  events: readonly NewEvent[],
  logOf: (id: string) => Promise<readonly LogEvent[]>,
): Promise<string[]> {
  const told = events.map(toldBy).filter((content) => content !== null)
  const checks = told.map(async (content) =>
    checkEnd(content, turnOf(content.callId, await logOf(childIdOf(content.callId)))),
  )
  return (await Promise.all(checks)).flat().map((problem) => `a parent is told too soon: ${problem}`)
}

function toldBy({ type, content }: NewEvent): Resolution | null {
  return type === 'resolution' && content.kind === 'sub_agent' && content.status === 'resolved' ? content : null
}

function turnOf(callId: string, log: readonly LogEvent[]): TurnState | null {
  return findTurn(foldEvents(log), childTurnIdOf(callId))
}

function checkEnd({ callId, value }: Resolution, turn: TurnState | null): string[] {
  if (!turn?.end) return [`${callId} was told ${JSON.stringify(value)}, and its child has not ended`]
  const { ok, result } = Object(value) as { readonly ok?: unknown; readonly result?: unknown }
  const isCompleted = turn.end.status === 'completed'
  const isSame = isCompleted ? ok === true && result === lastText(turn) : ok === false
  return isSame ? [] : [`parent and child disagree: ${callId} was told ${JSON.stringify(value)}, ${saying(turn)}`]
}

function saying(turn: TurnState): string {
  return `and its child ended ${turn.end?.status} with '${lastText(turn)}'`
}

function lastText(turn: TurnState): string {
  const parts = keptMessages(turn).at(-1)?.parts ?? []
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
