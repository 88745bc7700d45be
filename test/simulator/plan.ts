import type { Failpoint } from '../../src/base/failpoint.ts'
import type { Outage } from './outage.ts'
import type { Scenario } from './scenarios/scenario.ts'

/** What goes wrong in one run, and when. Empty: nothing does. */
export type Plan = {
  readonly scenarios: readonly Scenario[]
  /** One after the other: the passings of each are counted from the crash before it. */
  readonly crashes?: readonly Crash[]
  /** What a writer in another process appends just before a step: a call that a process makes to the store. */
  readonly foreign?: readonly ForeignAppend[]
  /** A process that stops at a step and goes on, unaware, when others have made so many steps. */
  readonly stall?: { readonly step: number; readonly steps: number } | null
  /** Writes, counted from 1, that fail: made, so that only the answer is lost, or not made. */
  readonly failures?: readonly { readonly write: number; readonly isMade: boolean }[]
  /** Of the writes that take a lease, counted from 1, those that are made and whose answer is lost. */
  readonly lostLeases?: readonly number[]
  /** The store fails for a long time. */
  readonly outage?: Outage | null
  /** How many conversations a process works on at once. Default: as many as there are. */
  readonly room?: number
  /** Processes that work from the beginning. Default: 1. */
  readonly workers?: number
  /** A rule that is not kept, to see that it is missed. */
  readonly broken?: BrokenRule | null
}

export type Crash = { readonly failpoint: Failpoint; readonly nth: number }

export const foreignActions = ['cancel', 'steer', 'queue', 'interrupt', 'answer', 'note'] as const

export type ForeignAction = (typeof foreignActions)[number]

export type ForeignAppend = { readonly action: ForeignAction; readonly step: number }

export type BrokenRule =
  | 'an owner names the seq it decided on'
  | 'an owner names its epoch'
  | 'a key is taken once'
  | 'a round is resolved once'
  | 'a start is durable before its tool runs'
  | 'what is told is durable'
  | 'an answer wakes the conversation'
  | 'a process renews only the leases it knows'
  | 'a process holds one conversation with lapses at a time'
  | 'lapses are counted'

export function describePlan({ scenarios, broken, ...rest }: Plan): string {
  const names = scenarios.length > 3 ? `${scenarios.length} scenarios` : scenarios.map(({ name }) => name).join(' and ')
  return `${names} ${JSON.stringify(rest)}${broken ? ` without "${broken}"` : ''}`
}
