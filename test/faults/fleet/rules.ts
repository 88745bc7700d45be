import { isDeepStrictEqual } from 'node:util'
import { callEnd } from '../../../src/log/call-phase.ts'
import { childIdOf } from '../../../src/log/child-call.ts'
import type { EventOf, LogEvent } from '../../../src/log/events.ts'
import { type CallState, findTurn, keptMessages, type TurnState } from '../../../src/log/state.ts'
import { checkHistory } from '../../log/check-history.ts'
import type { Facts, Kept } from './facts.ts'
import type { Given, Run } from './history.ts'
import { jobsActOnce, limitsAreKept, pausedStaysAtRest, readersSeeOneText } from './steering-rules.ts'

/** What must hold over a whole history. Each returns what breaks it. */
export const rules = {
  'acknowledged means present': acknowledgedIsPresent,
  'one end per turn and call': oneEnd,
  'parent and child agree': familiesAgree,
  'effects happen once, and not after their end': effectsOnce,
  'answers told are true': answersAreTrue,
  'ends told are true': endsAreTrue,
  'an accepted approval is not eaten': approvalsAreKept,
  'watchers see the log': watchersSeeTheLog,
  'poison is set aside, and nothing else': poisonIsConvicted,
  'paused stays at rest': pausedStaysAtRest,
  'limits are kept': limitsAreKept,
  'a bulk job acts once': jobsActOnce,
  'readers see one text': readersSeeOneText,
  'everything comes to rest': allAtRest,
} satisfies Record<string, (facts: Facts) => string[]>

export function brokenRules(facts: Facts): string[] {
  return Object.entries(rules).flatMap(([name, check]) => check(facts).map((problem) => `${name}: ${problem}`))
}

/** Two clocks are read, and the log keeps whole milliseconds. */
const slackMs = 5

function acknowledgedIsPresent({ history, kept }: Facts): string[] {
  const problems = [...history.denials]
  for (const { conversation, key, told } of history.sends) {
    const messages = ofType(kept.get(conversation), 'user_msg').filter(({ content }) => content.key === key)
    if (messages.length > 1) problems.push(`message ${key} is in the log ${messages.length} times`)
    if (told.length > 0 && messages.length === 0) problems.push(`message ${key} was acknowledged and is not in the log`)
    for (const turnId of new Set(told)) {
      const [message] = messages
      if (message && message.content.turnId !== turnId)
        problems.push(`message ${key} was said to be of ${turnId}, and is not`)
    }
  }
  for (const { id, isStarted, resumedWith, isResumed } of history.sessions) {
    const found = kept.get(id)
    if (isStarted && !found?.flow) problems.push(`session ${id} was acknowledged and is not in the log`)
    const answers = (found?.flow?.outcomes ?? []).filter((outcome) => outcome.ok && outcome.value === resumedWith)
    if (isResumed && answers.length !== 1)
      problems.push(`the answer to session ${id} is in its log ${answers.length} times`)
  }
  return problems
}

function oneEnd({ kept }: Facts): string[] {
  return [...kept.values()].flatMap(({ record, log, flow }) => {
    if (flow) {
      const ends = log.filter(({ type }) => type === 'flow_ended').length
      return ends === 1 ? [] : [`session ${record.id} has ${ends} ends`]
    }
    try {
      checkHistory(log)
      return []
    } catch (error) {
      return [`${record.id}: ${error instanceof Error ? error.message : String(error)}`]
    }
  })
}

/** What a parent was told is what its child came to, and a child has no other parent. */
function familiesAgree({ kept }: Facts): string[] {
  const problems: string[] = []
  for (const { record, log } of kept.values()) {
    for (const { content } of log.filter((event) => event.type === 'suspension')) {
      if (content.kind !== 'sub_agent') continue
      const ends = log.filter((event) => event.type === 'resolution' && event.content.callId === content.callId)
      if (ends.length !== 1) problems.push(`call ${content.callId} of a child was resolved ${ends.length} times`)
      const told = ends[0] as EventOf<'resolution'> | undefined
      problems.push(...compare(record.id, content.callId, told, kept.get(childIdOf(content.callId))))
    }
  }
  return problems
}

function compare(
  id: string,
  callId: string,
  told: EventOf<'resolution'> | undefined,
  child: Kept | undefined,
): string[] {
  const value = told?.content.value as { ok?: boolean; result?: unknown } | null | undefined
  // A parent that is cancelled at once may never have started it.
  if (!child) return value?.ok === true ? [`${id} has a result of ${callId}, which was never started`] : []
  const [turn] = child.state.turns
  const problems: string[] = []
  if (child.record.parent?.id !== id || child.record.parent.callId !== callId)
    problems.push(`${child.record.id} has another parent`)
  if (child.state.turns.length !== 1) problems.push(`${child.record.id} was started ${child.state.turns.length} times`)
  const status = turn?.end?.status ?? 'open'
  const isSame = status === 'completed' ? value?.ok === true && value.result === textOf(turn) : value?.ok !== true
  if (!isSame || status === 'open') {
    problems.push(
      `${child.record.id} is ${status}, and ${id} was told ${told?.content.status} ${JSON.stringify(value)}`,
    )
  }
  return problems
}

function effectsOnce({ history, kept }: Facts): string[] {
  const runs = Map.groupBy(history.runs, ({ id }) => id)
  return [...kept.values()].flatMap((one) => [
    ...one.state.turns.flatMap((turn) =>
      turn.calls.flatMap((call) => checkCall(one, turn, call, runs.get(call.callId) ?? [])),
    ),
    ...checkSteps(one, runs),
  ])
}

function checkCall({ log }: Kept, turn: TurnState, call: CallState, runs: readonly Run[]): string[] {
  if (call.executor !== 'server') return []
  const problems: string[] = []
  const name = `${call.name} ${call.callId}`
  const end = callEnd(call)
  const endSeq = call.result?.seq ?? (end ? call.rounds.at(-1)?.resolution?.seq : undefined) ?? turn.end?.seq
  const endedAt = endSeq === undefined ? Number.POSITIVE_INFINITY : log[endSeq - 1]!.at
  for (const { at, node } of runs) {
    if (at > endedAt + slackMs) problems.push(`${name} ran on ${node} ${at - endedAt} ms after its end was told`)
  }
  if (runs.length > call.attempts) problems.push(`${name} ran ${runs.length} times in ${call.attempts} attempts`)
  if (call.ifInterrupted === 'report' && runs.length > 1) problems.push(`${name} ran ${runs.length} times`)
  if (end?.ok && runs.length === 0) problems.push(`${name} has a result and never ran`)
  if (end && !end.ok && /not run/.test(end.error) && runs.length > 0)
    problems.push(`${name} ran, and was said not to have`)
  const approval = call.rounds.find(({ kind }) => kind === 'approval')?.resolution
  const isApproved = approval?.status === 'resolved' && approval.value !== false
  if (call.gated && !isApproved && runs.length > 0) problems.push(`${name} ran, and was not approved`)
  return problems
}

function checkSteps({ log, flow }: Kept, runs: ReadonlyMap<string, readonly Run[]>): string[] {
  return (flow?.ops ?? []).flatMap(({ op, id = '', position }) => {
    if (op.kind !== 'step') return []
    const problems: string[] = []
    const own = runs.get(id) ?? []
    const outcome = flow?.outcomes.find((candidate) => candidate.position === position)
    if (op.ifInterrupted === 'report' && own.length > 1) problems.push(`step ${id} ran ${own.length} times`)
    if (outcome?.ok && own.length === 0) problems.push(`step ${id} has a result and never ran`)
    const endedAt = outcome ? log[outcome.seq - 1]!.at : Number.POSITIVE_INFINITY
    if (own.some(({ at }) => at > endedAt + slackMs)) problems.push(`step ${id} ran after its end was told`)
    return problems
  })
}

function answersAreTrue({ history, kept }: Facts): string[] {
  const problems: string[] = []
  for (const [call, given] of Map.groupBy(history.answers, ({ callId, round }) => `${callId}/${round}`)) {
    const winners = given.filter(({ told }) => told.some(({ accepted }) => accepted)).map(({ who }) => who)
    if (winners.length > 1) problems.push(`${winners.join(' and ')} were told that they answered ${call}`)
    problems.push(...given.flatMap((one) => judgeAnswer(one, kept.get(one.conversation))))
  }
  return problems
}

function judgeAnswer({ callId, round, who, verb, value, told }: Given, one: Kept | undefined): string[] {
  const ends = ofType(one, 'resolution').filter(({ content }) => content.callId === callId && content.round === round)
  const [end] = ends
  if (told.length > 0 && (!end || ends.length > 1)) return [`round ${round} of ${callId} has ${ends.length} answers`]
  return told.flatMap((answer) => {
    const { status, value: kept, who: by } = end!.content
    if (!answer.accepted) {
      if (by === who) return [`${who} was told that it was late for ${callId}, and its answer is in the log`]
      const { who: toldWho, at, status: toldStatus, value: toldValue } = answer.resolution
      const isTrue = toldWho === by && at === end!.at && toldStatus === status && isDeepStrictEqual(toldValue, kept)
      return isTrue ? [] : [`${who} was told that ${toldWho} said ${toldStatus} to ${callId}; it was ${by}: ${status}`]
    }
    const isSame =
      verb === 'deny' ? status === 'denied' : status === 'resolved' && kept === (verb === 'approve' ? true : value)
    return by === who && isSame ? [] : [`${who} was told that it answered ${callId} with ${verb}; ${by} did: ${status}`]
  })
}

function endsAreTrue({ history, kept }: Facts): string[] {
  const problems: string[] = []
  for (const { conversation, turnId, status, text } of history.ends) {
    const one = kept.get(conversation)
    const turn = one && findTurn(one.state, turnId)
    // What a bulk job has replaced is in the log alone.
    const replaced = turn ? undefined : ofType(one, 'turn_ended').find(({ content }) => content.turnId === turnId)
    const isTrue = turn?.end?.status === status && (text === null || text === textOf(turn))
    if (!isTrue && replaced?.content.status !== status)
      problems.push(`turn ${turnId} of ${conversation} was told ${status} '${text}', and is ${turn?.end?.status}`)
  }
  for (const { id, end } of history.sessions) {
    const ended = kept.get(id)?.flow?.ended
    const isTrue = end === null || (ended?.status === 'done' ? isDeepStrictEqual(ended.result, end) : end === 'failed')
    if (!isTrue) problems.push(`session ${id} was told ${JSON.stringify(end)}, and is ${JSON.stringify(ended)}`)
  }
  return problems
}

/** A node that lacks the tool leaves the call to those that have it. */
function approvalsAreKept({ kept }: Facts): string[] {
  return [...kept.values()].flatMap(({ state }) =>
    state.turns.flatMap(({ calls }) =>
      calls.flatMap((call) => {
        const end = callEnd(call)
        const isEaten = end && !end.ok && /no longer there/.test(end.error)
        return isEaten ? [`${call.name} ${call.callId} was approved, and ended with: ${end.error}`] : []
      }),
    ),
  )
}

function allAtRest({ kept }: Facts): string[] {
  return [...kept.values()].flatMap(({ record: { id, status, lastSeq, fsmState }, flow }) => {
    const isAtRest = flow ? flow.ended !== null : status === 'idle' && fsmState?.lastSeq === lastSeq
    return isAtRest ? [] : [`${id} is still ${status}`]
  })
}

/** From its beginning, each event once and in its place. */
function watchersSeeTheLog({ history, kept }: Facts): string[] {
  return history.watched.flatMap(({ conversation, seen }) => {
    const shown = kept.get(conversation)?.shown ?? []
    const place = seen.findIndex((event, index) => event !== shown[index])
    return place < 0 ? [] : [`a watcher of ${conversation} was shown '${seen[place]}' instead of '${shown[place]}'`]
  })
}

/** Five in a row; a process in between that met a broken connection, and gave the lease back before it ran anything, begins the row again. */
const mostPoisoned = 10

function poisonIsConvicted({ history: { poisoned, quarantine }, kept }: Facts): string[] {
  const problems: string[] = []
  if (poisoned.length > mostPoisoned) problems.push(`the poison ended ${poisoned.length} nodes`)
  if (poisoned.length > 0 && quarantine !== 'released') problems.push(`the quarantine of the poison was ${quarantine}`)
  for (const { record } of kept.values()) {
    if (record.quarantine) problems.push(`${record.id} is quarantined in the end`)
  }
  return problems
}

function ofType<Type extends LogEvent['type']>(one: Kept | undefined, type: Type): EventOf<Type>[] {
  return (one?.log ?? []).filter((event) => event.type === type) as unknown as EventOf<Type>[]
}

function textOf(turn: TurnState | undefined): string {
  const last = turn && keptMessages(turn).at(-1)
  return (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}
