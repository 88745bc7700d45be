import type { Counts } from '../harness/verdict.ts'
import type { Timeline } from './evidence.ts'
import type { Facts } from './facts.ts'
import type { History } from './history.ts'
import { type FaultCounts, faults } from './nemesis.ts'
import type { NodeMessage } from './node.ts'
import { type ActCounts, acts } from './operators.ts'
import { limitsOf } from './steering-rules.ts'

/** What happened in a run, as far as it shows that the run was worth something. */
export class Tally {
  readonly #history: History
  readonly #timeline: Timeline
  readonly #logged = new Map<string, number>()

  constructor(history: History, timeline: Timeline) {
    this.#history = history
    this.#timeline = timeline
  }

  hear(message: NodeMessage, node: string): void {
    if (message.type === 'poisoned') this.#history.poisoned.push(node)
    if (message.type === 'ran') {
      const { tool, id, at } = message
      this.#history.runs.push({ tool, id, at, node })
    }
    if (message.type === 'called') {
      const { conversation, key, at } = message
      this.#history.calls.push({ conversation, key, at })
    }
    if (message.type !== 'examined') this.#timeline.note(`${node}: ${JSON.stringify(message)}`)
    if (message.type !== 'logged') return
    const text = `${message.level}: ${message.text}`.slice(0, 160)
    this.#logged.set(text, (this.#logged.get(text) ?? 0) + 1)
  }

  counts({ kept, leases, jobs }: Pick<Facts, 'kept' | 'leases' | 'jobs'>) {
    const { sends, answers, sessions, runs, readings } = this.#history
    const bound = leases.taken.flatMap((lease) => limitsOf(lease).filter(([, held, limit]) => held === limit))
    const done = (action: string): number =>
      jobs.reduce((sum, job) => (job.action === action ? sum + job.done : sum), 0)
    const all = [...kept.values()]
    const events = all.flatMap(({ log }) => log)
    const results = events.filter((event) => event.type === 'tool_result')
    const logged = [...this.#logged.entries()].toSorted(([, a], [, b]) => b - a)
    return {
      messages: sends.length,
      sessions: sessions.length,
      children: all.filter(({ record }) => record.parent?.callId !== undefined).length,
      events: events.length,
      // The record counts events that the later build alone knows.
      marks: all.reduce((sum, { record, log }) => sum + record.lastSeq - log.length, 0),
      runs: runs.length,
      unknown: results.filter(({ content }) => content.outcome === 'unknown').length,
      reruns: events.filter((event) => event.type === 'tool_started' && event.content.attempt > 1).length,
      answersAccepted: answers.filter(({ told }) => told.some(({ accepted }) => accepted)).length,
      answersTooLate: answers.filter(({ told }) => told.some(({ accepted }) => !accepted)).length,
      watched: this.#history.watched.reduce((sum, { seen }) => sum + seen.length, 0),
      leases: leases.taken.length,
      tenantsAtLimit: bound.filter(([name]) => name === 'tenant').length,
      agentsAtLimit: bound.filter(([name]) => name === 'agent').length,
      accountsAtLimit: bound.filter(([name]) => name === 'account').length,
      jobs: jobs.length,
      cancelledInBulk: done('cancel'),
      retriedInBulk: done('retry'),
      wholeReadings: readings.filter(({ isWhole }) => isWhole).length,
      unfinishedReadings: readings.filter(({ isWhole }) => !isWhole).length,
      // More of a text than its beginning, at a node that did not write it.
      liveElsewhere: readings.filter(
        ({ node, shown }) => shown.filter(({ drafts }) => drafts[0] && !drafts[0].startsWith(`${node}-`)).length > 2,
      ).length,
      poisoned: this.#history.poisoned.length,
      leasesLost: this.#times('a lease was lost'),
      // Both workers and API nodes of the earlier build meet them.
      unknownEvents: this.#times("'fleet_mark', which"),
      logged: Object.fromEntries(logged.slice(0, 12)),
    } satisfies Counts
  }

  #times(part: string): number {
    return [...this.#logged].reduce((sum, [text, times]) => (text.includes(part) ? sum + times : sum), 0)
  }
}

/** What a run of any length must have seen, and what one that is not short must have seen as well. */
const always = ['sessions', 'children', 'marks', 'answersAccepted', 'answersTooLate', 'accountsAtLimit'] as const
const inTime = [
  ...always,
  ...(['tenantsAtLimit', 'agentsAtLimit', 'cancelledInBulk', 'retriedInBulk', 'liveElsewhere'] as const),
  ...(['watched', 'poisoned', 'unknown', 'reruns', 'leasesLost', 'unknownEvents'] as const),
] as const

export function notExercised(
  counts: FaultCounts & ActCounts,
  seen: ReturnType<Tally['counts']>,
  isShort: boolean,
): string[] {
  return [
    ...[...faults, ...acts].filter((fault) => counts[fault] === 0).map((fault) => `there was no '${fault}'`),
    ...(isShort ? always : inTime).filter((name) => seen[name] === 0).map((name) => `there were no ${name}`),
  ]
}
