import { callPhase } from '../../src/log/call-phase.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { waitsIn } from '../../src/log/fold-call.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import {
  type CallState,
  type ConversationState,
  emptyState,
  findCall,
  keptMessages,
  openTurn,
} from '../../src/log/state.ts'

/** Throws when a finished history breaks a promise that holds for every log. */
export function checkHistory(log: readonly LogEvent[]): void {
  let state = emptyState
  const ends = new Map<string, number>()
  for (const event of log) {
    const next = foldEvents([event], state)
    checkEvent(state, event)
    for (const callId of callIds(next)) if (isEnded(next, callId) && !isEnded(state, callId)) count(ends, callId)
    state = next
  }
  for (const turn of state.turns) {
    const turnEnds = log.filter((event) => event.type === 'turn_ended' && event.content.turnId === turn.turnId)
    must(turnEnds.length === 1, `turn ${turn.turnId} has ${turnEnds.length} ends`)
    must(!turn.cancel || turn.end?.status === 'cancelled', `turn ${turn.turnId} was cancelled and reads otherwise`)
    for (const call of turn.calls) must(ends.get(call.callId) === 1, `call ${call.callId} ended otherwise than once`)
    const isCompleted = turn.end?.status === 'completed'
    must(!isCompleted || !keptMessages(turn).at(-1)?.withheld, `turn ${turn.turnId} is completed by what is withheld`)
  }
  checkDiscarded(log)
  checkWithheld(log, state)
  checkHalts(log, state)
  checkState(log, state)
}

/** What an event may say about the state before it. */
function checkEvent(before: ConversationState, event: LogEvent): void {
  switch (event.type) {
    case 'assistant_msg':
    case 'tool_call': {
      const open = openTurn(before)
      return must(open?.turnId === event.content.turnId, `${event.type} ${event.seq} is not of the open turn`)
    }
    case 'tool_result':
    case 'suspension':
      return must(!isEnded(before, event.content.callId), `${event.type} ${event.seq} is about a call that has ended`)
    case 'deadline_moved': {
      const call = findCall(before, event.content.callId)?.call
      return must(call !== undefined && waitsIn(call, event.content), `deadline ${event.seq} is of no round that waits`)
    }
    case 'tool_started':
      return checkStart(findCall(before, event.content.callId)!.call, event.content.attempt)
    default:
  }
}

/** An attempt that broke off is in no message, and stands right before what came of its message. */
function checkDiscarded(log: readonly LogEvent[]): void {
  const written = new Set(log.flatMap(({ type, content }) => (type === 'assistant_msg' ? [content.messageId] : [])))
  for (const [index, event] of log.entries()) {
    if (event.type !== 'attempt_discarded') continue
    const { messageId, turnId } = event.content
    must(!written.has(messageId), `attempt ${messageId} was discarded, and its message is in the log`)
    const next = log.slice(index + 1).find(({ type }) => type !== 'attempt_discarded' && type !== 'withheld')
    const isOfTurn = next === undefined || ('turnId' in next.content ? next.content.turnId === turnId : true)
    must(isOfTurn, `attempt ${messageId} is not before what came of its message`)
  }
}

/** A mark stands right before its message, unless the log was cut between them, and the message shows and calls nothing. */
function checkWithheld(log: readonly LogEvent[], state: ConversationState): void {
  const messages = state.turns.flatMap((turn) => turn.items.filter((item) => item.type === 'assistant'))
  for (const [index, mark] of log.entries()) {
    if (mark.type !== 'withheld') continue
    const { messageId } = mark.content
    const message = messages.find((item) => item.messageId === messageId)
    if (!message) continue
    const next = log[index + 1]
    const isNext = next?.type === 'assistant_msg' && next.content.messageId === messageId
    must(
      isNext && next.content.parts.every((part) => part.type !== 'call'),
      `mark ${mark.seq} is not before its message`,
    )
    const isEmpty = message.withheld && message.parts.length === 0 && !('object' in message)
    must(isEmpty === true, `message ${messageId} is withheld, and in the state`)
  }
}

/** Whether the turns of that time were withdrawn later. */
function isWithdrawn(log: readonly LogEvent[], { seq }: LogEvent): boolean {
  return log.slice(seq).some((event) => event.type === 'superseded' && event.content.fromSeq <= seq)
}

/** A halt stands before the result of its call. No model is called after it, and the first gives the reason. */
function checkHalts(log: readonly LogEvent[], state: ConversationState): void {
  const halted = new Set<string>()
  for (const [index, halt] of log.entries()) {
    if (halt.type !== 'halted_by') continue
    const { callId, reason } = halt.content
    const found = findCall(state, callId)
    if (!found && isWithdrawn(log, halt)) continue
    must(found !== null, `halt ${halt.seq} is of no call`)
    const { turnId, end } = found!.turn
    const { result } = found!.call
    must(result === null || result.seq > halt.seq, `halt ${halt.seq} is not before its result`)
    const isAsked = log.slice(index).some((event) => event.type === 'assistant_msg' && event.content.turnId === turnId)
    must(!isAsked, `turn ${turnId} asked the model after its halt`)
    if (halted.has(turnId)) continue
    halted.add(turnId)
    const isHalted = end?.status === 'halted' && end.reason === reason
    must(isHalted || end?.status === 'cancelled', `turn ${turnId} was halted and reads otherwise`)
  }
}

/** Of what calls set, the state has exactly what stands right before a good result; of what the application sets, everything. */
function checkState(log: readonly LogEvent[], { appState }: ConversationState): void {
  const values = new Map<string, string>()
  for (const [index, event] of log.entries()) {
    if (event.type !== 'state_set') continue
    const { callId, patch } = event.content
    const [next] = log.slice(index + 1, index + 3).filter(({ type }) => type !== 'halted_by')
    const isKept = next?.type === 'tool_result' && next.content.callId === callId && next.content.ok
    if (callId !== undefined && !isKept) continue
    for (const [key, value] of Object.entries(patch.set)) values.set(key, JSON.stringify(value))
    for (const key of patch.remove) values.delete(key)
  }
  const folded = Object.entries(appState?.values ?? {}).map(([key, value]) => [key, JSON.stringify(value)] as const)
  must(
    folded.length === values.size && folded.every(([key, value]) => values.get(key) === value),
    `the state is ${JSON.stringify(folded)}, and what was set is ${JSON.stringify([...values])}`,
  )
}

function checkStart(call: CallState, attempt: number): void {
  const place = `call ${call.callId}, attempt ${attempt}`
  must(callPhase(call).type !== 'ended', `${place}: it has ended`)
  must(attempt === call.attempts + 1, `${place}: an attempt is left out`)
  must(call.executor === 'server', `${place}: it is not ours to run`)
  const approval = call.rounds.find((round) => round.kind === 'approval')?.resolution
  const isApproved = approval?.status === 'resolved' && approval.value !== false
  must(!call.gated || isApproved, `${place}: it was not approved`)
  const asked = call.rounds.at(-1)
  const isAnswered = asked?.toolState !== undefined && asked.resolution?.status === 'resolved'
  if (attempt === 1 || (isAnswered && asked.resolution!.seq > call.startedSeq)) return
  must(call.ifInterrupted !== 'report', `${place}: it must not run twice`)
  must(call.ifInterrupted !== 'rerun' || attempt <= 3, `${place}: it may be tried three times`)
  const decision = call.rounds.at(-1)?.resolution
  const isGranted = decision?.value === 'rerun' && decision.seq > call.startedSeq
  must(call.ifInterrupted !== 'ask' || isGranted, `${place}: it was not allowed to run again`)
}

function isEnded(state: ConversationState, callId: string): boolean {
  const found = findCall(state, callId)
  return found !== null && callPhase(found.call).type === 'ended'
}

function callIds(state: ConversationState): string[] {
  return state.turns.flatMap((turn) => turn.calls.map((call) => call.callId))
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function must(isTrue: boolean, problem: string): void {
  if (!isTrue) throw new Error(problem)
}
