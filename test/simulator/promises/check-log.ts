import { isDeepStrictEqual } from 'node:util'
import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import { keptMessages } from '../../../src/log/next-step.ts'
import type { ConversationState, TurnState } from '../../../src/log/state.ts'
import { checkHistory } from '../../log/check-history.ts'

/** What holds for every log of a conversation that has come to rest. */
export function checkLog(log: readonly LogEvent[]): string[] {
  const problems: string[] = []
  log.forEach((event, index) => {
    if (event.seq !== index + 1) problems.push(`event ${index + 1} has seq ${event.seq}`)
  })
  if (problems.length > 0) return problems
  for (const [name, count] of doubles(log)) problems.push(`${name} is in the log ${count} times`)
  problems.push(...checkState(log))
  try {
    checkHistory(log)
    const state = foldEvents(log)
    for (const turn of state.turns) problems.push(...checkTurn(turn))
    problems.push(...checkKept(state))
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error))
  }
  return problems
}

/** What may be said once only. */
function doubles(log: readonly LogEvent[]): [name: string, count: number][] {
  const counts = new Map<string, number>()
  for (const event of log) {
    const name = nameOf(event)
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].filter(([, count]) => count > 1)
}

/** What a call sets, or why that was refused, is in the same commit as its result and right before it. */
function checkState(log: readonly LogEvent[]): string[] {
  return log.flatMap((event, index) => {
    if (event.type !== 'state_set' && event.type !== 'state_refused') return []
    const { callId } = event.content
    const [next] = log.slice(index + 1, index + 3).filter(({ type }) => type !== 'halted_by')
    const isBeforeResult = next?.type === 'tool_result' && next.content.callId === callId
    return callId === undefined || isBeforeResult ? [] : [`${event.type} ${event.seq} is not before its result`]
  })
}

/** The state has each call of `keep` that ended well once, in the order of their results, and no other. */
function checkKept({ turns, appState }: ConversationState): string[] {
  const ended = turns.flatMap(({ calls }) => calls.filter(({ name, result }) => name === 'keep' && result?.ok))
  const expected = ended.sort((one, other) => one.result!.seq - other.result!.seq).map(({ callId }) => callId)
  const { kept = [], outside = [] } = (appState?.values ?? {}) as { kept?: string[]; outside?: string[] }
  const problems = isDeepStrictEqual(kept, expected) ? [] : [`the state has kept ${kept}, and the results ${expected}`]
  const isEach = expected.every((callId) => outside.filter((other) => other === callId).length === 1)
  return isEach ? problems : [...problems, `of ${expected} the application has set ${outside}`]
}

function nameOf(event: LogEvent): string | null {
  switch (event.type) {
    case 'user_msg':
      return event.content.key === undefined ? null : `the message with key '${event.content.key}'`
    case 'assistant_msg':
      return `message ${event.content.messageId}`
    case 'withheld':
      return `mark of ${event.content.messageId}`
    case 'tool_call':
      return `call ${event.content.callId}`
    case 'tool_started':
      return `start ${event.content.attempt} of ${event.content.callId}`
    case 'tool_asked':
      return `mark of suspension ${event.content.round} of ${event.content.callId}`
    case 'suspension':
      return `suspension ${event.content.round} of ${event.content.callId}`
    case 'resolution':
      return `resolution ${event.content.round} of ${event.content.callId}`
    case 'tool_result':
      return `result of ${event.content.callId}`
    case 'injection':
      return `injection of ${event.content.hook} at step ${event.content.step} of ${event.content.turnId}`
    case 'attempt_discarded':
      return `discarded attempt ${event.content.messageId}`
    case 'halted_by':
      return `halt of ${event.content.callId}`
    case 'turn_ended':
      return `end of ${event.content.turnId}`
    default:
      return null
  }
}

function checkTurn(turn: TurnState): string[] {
  const problems: string[] = []
  const last = keptMessages(turn).at(-1)
  if (turn.end?.status === 'completed') {
    const unread = turn.items.filter((item) => item.type === 'user' && item.seq > (last?.seen ?? 0))
    if (unread.length > 0) problems.push(`turn ${turn.turnId} was completed without an answer to a message`)
  }
  const said = JSON.stringify(turn.items)
  if (said.includes('never said')) problems.push(`turn ${turn.turnId} has what was never said`)
  return problems
}
