import { errorCodes } from '../../../src/base/errors/codes.ts'
import type { TurnOutcome } from '../../../src/engine/live/turn-outcome.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { discloseOutcome } from '../../../src/view/disclose.ts'
import type { View } from '../../../src/view/view.ts'
import { checkHistory } from '../../log/check-history.ts'
import { type FaultPlan, markOf, streamFaults } from './fake-provider.ts'
import { protocols, providersWords } from './protocols.ts'

export const maxAttempts = 3

/** Everything that can be seen of a case after its turn. */
export type Seen = {
  readonly plan: FaultPlan
  /** By step, with those to the fallback model. */
  readonly requests: readonly [number, number]
  readonly fallbacks: readonly [number, number]
  readonly outcome: TurnOutcome
  readonly events: readonly LogEvent[]
  /** What the tool did. */
  readonly effects: number
  /** What a watcher shows at the end. */
  readonly watched: View | null
}

/** What is wrong with how a case ended. */
export function checkCase(seen: Seen): string[] {
  return [
    ...[checkOutcome, checkAttempts, checkFallback, checkTexts, checkUsage, checkLog].flatMap((check) => check(seen)),
  ]
}

/** A turn is completed with the right answer, or failed with a class of failure that people may read. */
function checkOutcome({ plan, requests, outcome, effects, watched }: Seen): string[] {
  const problems: string[] = []
  const { fault, times, step, finish } = plan
  if (watched === null || watched.drafts.length > 0) problems.push('a watcher is left with a draft')
  if (outcome.status === 'completed') {
    const wanted = `${markOf(1, requests[1])} It is paid.`
    if (outcome.text !== wanted) problems.push(`it says ${JSON.stringify(outcome.text)} instead of ${wanted}`)
    if (effects !== 1) problems.push(`the tool ran ${effects} times`)
    const reason = finish === 'done' ? 'stop' : finish === 'length' ? 'length' : 'content-filter'
    if (step === 1 && outcome.finishReason !== reason) problems.push(`it finished by ${outcome.finishReason}`)
    return problems
  }
  if (outcome.status !== 'failed') return [...problems, `it is ${outcome.status}`]
  if (plan.hasFallback) problems.push('it failed, although its fallback model was left')
  if (fault === null || times < maxAttempts)
    problems.push(`it failed, although ${maxAttempts - times} attempts were left`)
  if (effects !== step) problems.push(`the tool ran ${effects} times before step ${step} failed`)
  const { reason } = discloseOutcome(outcome, { errors: false, withheld: false })
  if (!Object.hasOwn(errorCodes, reason ?? '') || !reason?.startsWith('model_'))
    problems.push(`its reason is ${reason}`)
  if (reason?.includes(providersWords)) problems.push('its reason has the words of the provider')
  const expected = classes[fault ?? '']
  if (expected !== undefined && reason !== expected) problems.push(`its reason is ${reason}, not ${expected}`)
  return problems
}

/** What people must be told, where one class fits. */
const classes: { readonly [fault: string]: string } = {
  stall: 'model_timed_out',
  silent: 'model_timed_out',
  status_429: 'model_rate_limited',
  status_529: 'model_overloaded',
}

function checkAttempts({ plan, requests, fallbacks, outcome }: Seen): string[] {
  const problems: string[] = []
  if (requests.some((count, step) => count - fallbacks[step]! > maxAttempts))
    problems.push(`it made ${requests.join(' and ')} requests`)
  if (outcome.status === 'failed' && requests[plan.step] !== maxAttempts) {
    problems.push(`it failed after ${requests[plan.step]} attempts`)
  }
  return problems
}

/** The fallback model is asked once, and only when the other has failed as often as it may; the log names the one that answered. */
function checkFallback({ requests, fallbacks, events }: Seen): string[] {
  return ([0, 1] as const).flatMap((step) => {
    const problems: string[] = []
    const asked = fallbacks[step]
    if (asked > 1) problems.push(`the fallback model was asked ${asked} times in step ${step}`)
    if (asked > 0 && requests[step] !== maxAttempts + asked)
      problems.push(`the fallback model was asked after ${requests[step] - asked} attempts of step ${step}`)
    const message = events.find((event) => event.type === 'assistant_msg' && isOfStep(event, step))
    const named = message?.type === 'assistant_msg' && message.content.model.modelId
    const expected = asked > 0 ? 'fallback' : 'fake'
    if (message && named !== expected) problems.push(`step ${step} is said to be by ${named}, and is by ${expected}`)
    return problems
  })
}

function isOfStep({ type, content }: LogEvent, step: number): boolean {
  return type === 'assistant_msg' && JSON.stringify(content).includes(`[step ${step},`)
}

/** Of the attempts of a step only the last is in the log, if any; and in pieces that belong together. */
function checkTexts({ plan, requests, events }: Seen): string[] {
  const problems: string[] = []
  const log = JSON.stringify(events)
  for (const step of [0, 1] as const) {
    for (let attempt = 1; attempt < requests[step]; attempt++) {
      if (log.includes(markOf(step, attempt))) problems.push(`the log has attempt ${attempt} of step ${step}`)
    }
    const written = events.filter((event) => isOfStep(event, step))
    if (written.length > 1) problems.push(`step ${step} is in the log ${written.length} times`)
  }
  if (plan.fault === null && events.some(({ type }) => type === 'attempt_discarded')) {
    problems.push('an attempt was discarded, and none was broken')
  }
  return problems
}

/** What the provider had told when its stream broke is in the log. */
function checkUsage({ plan, events, requests }: Seen): string[] {
  const { fault, position, protocol, step } = plan
  const isInStream = streamFaults.some((name) => name === fault) && fault !== 'garbage'
  if (!isInStream || requests[step] === 1 || position < protocols[protocol].untilUsage) return []
  const discarded = events.filter((event) => event.type === 'attempt_discarded')
  const told = discarded.filter(({ content }) => content.usage.inputTokens === 7)
  return told.length > 0 && told.length === discarded.length ? [] : ['usage that the provider told is not in the log']
}

function checkLog({ events }: Seen): string[] {
  const ids = events.flatMap(({ type, content }) =>
    type === 'assistant_msg' || type === 'attempt_discarded' ? [content.messageId] : [],
  )
  const problems = new Set(ids).size === ids.length ? [] : ['two attempts have one message id']
  try {
    checkHistory(events)
    return problems
  } catch (error) {
    return [...problems, error instanceof Error ? error.message : String(error)]
  }
}
