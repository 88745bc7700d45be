import { isDeepStrictEqual } from 'node:util'
import type { LogEvent } from '../../../src/log/events.ts'
import { keptMessages } from '../../../src/log/state.ts'
import type { PauseTarget } from '../../../src/store/steering.ts'
import { checkOneText } from '../../live/writer.ts'
import { fleetLimits } from './agents.ts'
import type { Facts, Kept } from './facts.ts'
import type { TakenLease } from './lease-audit.ts'

/** What passes limits, and what is renewed late, waits for no claim: one that was under way has not counted it. As long as a claim may take from its count to its audit. */
const besideMs = 500

/** No lease on what is paused, and no further turn under a lease that was held before. */
export function pausedStaysAtRest(facts: Facts): string[] {
  const problems = facts.leases.taken
    .filter(({ isPaused }) => isPaused)
    .map(({ id, at }) => `${id} was taken at ${at} while it was paused`)
  return [...problems, ...facts.history.pauses.flatMap((pause) => begunWithin(pause, facts))]
}

function begunWithin({ id, target, at }: Facts['history']['pauses'][number], facts: Facts): string[] {
  const { history, kept, leases, acts } = facts
  const resumes = acts.filter(
    ({ act, id: later, target: of }) => act === 'resume' && later > id && isDeepStrictEqual(keyOf(of), keyOf(target)),
  )
  const until = Math.min(...resumes.map((resume) => resume.at))
  const isMeant = (conversation: string): boolean => isAbout(target, conversation, kept.get(conversation))
  const taken = leases.taken.filter((lease) => lease.at > at && lease.at < until && isMeant(lease.id))
  const problems = taken.map((lease) => `${lease.id} was taken ${lease.at - at} ms after its pause was acknowledged`)
  for (const call of history.calls) {
    const { conversation, key } = call
    if (call.at <= at || call.at >= until || !isMeant(conversation)) continue
    const turnOf = turnsByKey(kept.get(conversation))
    const turnId = turnOf.get(key)
    const earlier = history.calls.filter((other) => other.conversation === conversation && other.at < call.at)
    const since = leases.taken.findLast((lease) => lease.id === conversation && lease.at <= call.at)?.at ?? 0
    const isFurther = earlier.some((other) => other.at >= since && turnOf.get(other.key) !== turnId)
    const isFirst = !earlier.some((other) => turnOf.get(other.key) === turnId)
    if (turnId !== undefined && isFurther && isFirst)
      problems.push(`turn ${turnId} of ${conversation} began ${call.at - at} ms after its pause was acknowledged`)
  }
  return problems
}

/** The turn of each message. */
function turnsByKey(one: Kept | undefined): Map<string, string> {
  const messages = (one?.log ?? []).filter((event) => event.type === 'user_msg')
  return new Map(messages.map(({ content: { key = '', turnId } }) => [key, turnId]))
}

function keyOf(target: PauseTarget | { readonly node: string }): PauseTarget | { readonly node: string } {
  return 'conversation' in target ? { tenant: 'default', ...target } : target
}

function isAbout(target: PauseTarget, id: string, one: Kept | undefined): boolean {
  if ('agent' in target) return one?.record.agent === target.agent
  return !('conversation' in target) || target.conversation === id
}

/** A lease is only given while a slot is free, except to what passes: children, and turns that are being cancelled. */
export function limitsAreKept({ leases, kept }: Facts): string[] {
  return leases.taken.flatMap((lease) => {
    const isBeside = (at: number): boolean => Math.abs(at - lease.at) < besideMs
    if (passes(lease, kept)) return []
    const passing = leases.taken.filter((other) => isBeside(other.at) && passes(other, kept)).length
    const beside = passing + leases.renewedLate.filter(isBeside).length
    return limitsOf(lease).flatMap(([name, held, limit]) =>
      held > limit + beside ? [`${lease.id} was the ${held}th of ${limit} for its ${name} at ${lease.at}`] : [],
    )
  })
}

function passes(lease: TakenLease, kept: Facts['kept']): boolean {
  const one = kept.get(lease.id)
  return !one || one.flow !== null || Boolean(one.record.parent) || isCancelled(one, lease)
}

export function limitsOf(lease: TakenLease): [name: 'tenant' | 'agent' | 'account', held: number, limit: number][] {
  const { turnsPerTenant, office, press } = fleetLimits
  return [
    ...(['office', 'scribe'].includes(lease.agent) ? [['tenant', lease.ofTenant, turnsPerTenant] as const] : []),
    ...(lease.agent === 'office' ? [['agent', lease.ofAgent, office] as const] : []),
    ...(lease.account === 'press' ? [['account', lease.ofAccount, press] as const] : []),
  ].map(([name, held, limit]) => [name, held, limit])
}

/** As far as the log said it when the lease was taken. */
function isCancelled({ shown }: Kept, { lastSeq }: TakenLease): boolean {
  const told = shown.slice(0, lastSeq).findLast((event) => / (cancel_requested|turn_ended) /.test(event))
  return told?.includes(' cancel_requested ') ?? false
}

/**
 * Each job ends, has acted on no fewer conversations than it says, once on each, and on nothing that began later. It may have acted on more: a batch whose process
 * died is repeated, and what no longer matches by then is not counted.
 */
export function jobsActOnce({ history, jobs, kept }: Facts): string[] {
  return history.jobs.flatMap(({ id }) => {
    const job = jobs.find((one) => one.id === id)
    if (!job) return [`job ${id} was acknowledged and is not there`]
    const problem = (job.report as { problem?: string | null } | null)?.problem
    if (job.state !== 'done' || problem) return [`job ${id} is ${job.state}: ${problem}`]
    // A cancelled turn takes its children along, and they may have begun later.
    const acted = [...kept.values()]
      .filter(({ record }) => !isChild(record))
      .map((one) => ({ one, events: actsOf(id, job.action, one) }))
    const touched = acted.filter(({ events }) => events.length > 0)
    const problems = touched.flatMap(({ one, events }) => {
      const turns = new Set(events.map(({ turnId }) => turnId))
      const isOnce = turns.size === (job.action === 'retry' ? 1 : events.length)
      const began = events.map(({ began }) => began)
      return [
        ...(isOnce ? [] : [`job ${id} acted on ${one.record.id} more than once`]),
        ...(began.some((at) => at > job.createdAt) ? [`job ${id} acted on a later turn of ${one.record.id}`] : []),
      ]
    })
    if (touched.length < job.done)
      problems.push(`job ${id} says it acted on ${job.done} conversations, and did on ${touched.length}`)
    return problems
  })
}

function isChild({ parent }: Kept['record']): boolean {
  return parent !== null && 'callId' in parent
}

/** What a job wrote to a log, with when the turn began that it acted on. */
function actsOf(id: string, action: string, { log, shown }: Kept): { turnId: string; began: number }[] {
  const firstOf = (turnId: string): LogEvent | undefined =>
    log.find((event) => event.type === 'user_msg' && event.content.turnId === turnId)
  return log.flatMap((event) => {
    if (action === 'cancel' && event.type === 'cancel_requested' && event.content.who === id)
      return [{ turnId: event.content.turnId, began: firstOf(event.content.turnId)?.at ?? 0 }]
    if (action !== 'retry' || event.type !== 'superseded') return []
    const { by, fromSeq } = event.content
    const message = firstOf(by)
    const isOwn = message?.type === 'user_msg' && message.content.key === `job/${id}`
    // By its place in the whole log: `log` leaves out what only the later build knows.
    return isOwn ? [{ turnId: by, began: Number(shown[fromSeq - 1]!.split(' ')[2]) }] : []
  })
}

/** One text at a time, from its first word on, never beside the message it became; and in the end what the log says. */
export function readersSeeOneText({ history, kept }: Facts): string[] {
  return history.readings.flatMap(({ conversation, node, shown, isWhole }) => {
    const problems = new Set<string>()
    const say = (text: string): void => void problems.add(`a reader of ${conversation} at ${node} was shown ${text}`)
    for (const { drafts, messages } of shown) {
      if (drafts.length > 1) say(`two drafts: ${drafts.join(' | ')}`)
      for (const draft of drafts) {
        try {
          checkOneText(draft)
        } catch (error) {
          say(`a mixed text: ${error instanceof Error ? error.message : String(error)}`)
        }
        const [attempt] = draft.split('.')
        if (draft !== '' && messages.some((message) => message.startsWith(`${attempt}.`))) say(`'${draft}' twice`)
      }
    }
    if (!isWhole) say('no end')
    const last = shown.at(-1)
    const turns = kept.get(conversation)?.state.turns ?? []
    const told = turns.flatMap((turn) => keptMessages(turn)).map(({ parts }) => textOf(parts))
    if (isWhole && !isDeepStrictEqual([last?.messages, last?.drafts], [told, []]))
      say(`${JSON.stringify(last)} in the end, and the log says ${JSON.stringify(told)}`)
    return [...problems]
  })
}

export function textOf(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map(({ type, text = '' }) => (type === 'text' ? text : '')).join('')
}
