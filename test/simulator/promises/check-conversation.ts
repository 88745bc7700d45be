import type { LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import type { Effect, Scenario, Told } from '../scenarios/scenario.ts'
import { checkCalls, checkStarts } from './check-calls.ts'
import { checkLog } from './check-log.ts'
import { checkRepeats } from './check-repeats.ts'
import { checkTold } from './check-told.ts'
import { checkTranscript } from './check-transcript.ts'

/** A conversation as it was when a process died: a prefix of what it became. */
export type Moment = {
  readonly log: readonly LogEvent[]
  readonly effects: readonly Effect[]
  readonly told: readonly Told[]
}

export type Ending = Moment & {
  readonly scenario: Scenario
  /** Calls that were under way when their conversation was taken over. */
  readonly interrupted: ReadonlySet<string>
  /** A participant that the scenario does not know took part, so only what holds for every log is checked. */
  readonly isDisturbed: boolean
}

export function checkConversation({ scenario, log, effects, told, interrupted, isDisturbed }: Ending): string[] {
  const problems = [...checkLog(log), ...checkStarts(log, effects), ...checkTold(log, told)]
  if (problems.length > 0) return named(scenario, problems)
  problems.push(...checkCalls(log, effects, interrupted), ...checkRepeats(log, effects, forcedIn(told)))
  if (!isDisturbed) problems.push(...checkTranscript(scenario, foldEvents(log), interrupted))
  return named(scenario, problems)
}

/** What must have been so already when a process died, and may not have come only with its successor. */
export function checkMoment(scenario: Scenario, moment: Moment, finalLog: readonly LogEvent[]): string[] {
  const { log, effects, told } = moment
  const problems = [...checkStarts(log, effects), ...checkTold(log, told)]
  const kept = JSON.stringify(finalLog.slice(0, log.length))
  if (kept !== JSON.stringify(log)) problems.push('the log was changed afterwards')
  return named(scenario, problems)
}

/** The keys of messages that people sent by force. */
function forcedIn(told: readonly Told[]): Set<string> {
  return new Set(told.flatMap((one) => (one.type === 'forced' ? [one.key] : [])))
}

function named(scenario: Scenario, problems: readonly string[]): string[] {
  return problems.map((problem) => `${scenario.name}: ${problem}`)
}
