import { setTimeout as sleep } from 'node:timers/promises'
import type { LogEvent } from '../../src/log/events.ts'
import type { Store } from '../../src/store/store.ts'
import type { Attempt, Effect, WaitingCall } from './double-approval/approver-child.ts'
import { checkApproved } from './double-approval/check-approvals.ts'
import { type Approver, startApprover } from './double-approval/start-approver.ts'
import { progress, runCommand } from './harness/command.ts'
import { openStore, type Target } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'

export type DoubleApprovalOptions = Place & {
  readonly seed: number
  /** How many approvals are submitted twice. Default: 1,000. */
  readonly rounds?: number
}

const approvalsPerHeat = 50
const mostExtraHeats = 20
/** Long enough for both processes to have read their orders. */
const noticeMs = 30
const patienceMs = 60_000

/** Each approval is submitted twice at once, from two processes: the side effect happens once, and the loser is told by whom. */
export async function doubleApproval(options: DoubleApprovalOptions): Promise<Verdict> {
  const { store, seed, rounds = 1000 } = options
  return judge({ program: 'double-approval', store, seed }, [
    { name: 'approvals', find: () => withTarget(options, (target) => approveTwice(target, seed, rounds)) },
  ])
}

async function approveTwice(target: Target, seed: number, rounds: number): Promise<Finding> {
  const store = await openStore(target)
  const effects: Effect[] = []
  const start = (who: string, index: number): Promise<Approver> =>
    startApprover({ target, who, seed: seed * 2 + index }, (effect) => effects.push(effect))
  const approvers = await Promise.all(['left', 'right'].map(start))
  const attempts: Attempt[] = []
  const calls: WaitingCall[] = []
  try {
    // A process that the machine kept waiting lost a whole heat: then there are more, until both have been first.
    while (
      calls.length < rounds ||
      (isOneSided(attempts) && calls.length < rounds + mostExtraHeats * approvalsPerHeat)
    ) {
      const size = calls.length < rounds ? Math.min(approvalsPerHeat, rounds - calls.length) : approvalsPerHeat
      const heat = await waitingCalls(store, approvers, `heat${calls.length}`, size)
      const at = Date.now() + noticeMs
      attempts.push(...(await Promise.all(approvers.map((approver) => approver.approve(heat, at)))).flat())
      calls.push(...heat)
      if (calls.length % 250 === 0) progress(`double-approval ${target.store}: ${calls.length} of ${rounds}`)
    }
    const logs = await Promise.all(calls.map(({ conversation }) => untilEnded(store, conversation)))
    // What a process told before it answered this has been heard by then.
    await Promise.all(approvers.map((approver) => approver.approve([], 0)))
    const violations = checkAll(calls, logs, attempts, effects)
    return { violations, ...judged(calls.length, attempts, effects) }
  } finally {
    await Promise.all(approvers.map((approver) => approver.stop()))
    await store.close()
  }
}

/** Both processes open half of the conversations, so that what one opened is approved, and run, also by the other. */
async function waitingCalls(
  store: Store,
  approvers: readonly Approver[],
  name: string,
  size: number,
): Promise<WaitingCall[]> {
  const ids = Array.from({ length: size }, (_, index) => `${name}/${index}`)
  const share = (index: number): string[] => ids.filter((_, place) => place % approvers.length === index)
  await Promise.all(approvers.map((approver, index) => approver.send(share(index))))
  const waiting = await Promise.all(ids.map((id) => store.pendingToolCalls(id)))
  return waiting.map((pending, index) => {
    const [call] = pending
    if (!call || pending.length > 1) throw new Error(`${ids[index]} has ${pending.length} pending calls`)
    return { conversation: ids[index]!, callId: call.id }
  })
}

function checkAll(
  calls: readonly WaitingCall[],
  logs: readonly (readonly LogEvent[])[],
  attempts: readonly Attempt[],
  effects: readonly Effect[],
): string[] {
  const attemptsOf = Map.groupBy(attempts, ({ callId }) => callId)
  const effectsOf = Map.groupBy(effects, ({ callId }) => callId)
  const violations = calls.flatMap(({ callId }, index) =>
    checkApproved({
      callId,
      events: logs[index]!,
      attempts: attemptsOf.get(callId) ?? [],
      effects: effectsOf.get(callId) ?? [],
    }),
  )
  if (effects.length !== calls.length) violations.push(`${effects.length} payments for ${calls.length} approvals`)
  return violations
}

async function untilEnded(store: Store, conversation: string): Promise<LogEvent[]> {
  for (const until = Date.now() + patienceMs; ; await sleep(10)) {
    const events = await store.streamEvents(conversation)
    if (events.some((event) => event.type === 'turn_ended')) return events
    if (Date.now() > until) throw new Error(`${conversation} had not ended after ${patienceMs} ms`)
  }
}

/** The run shows nothing when one process always came long after the other. */
function isOneSided(attempts: readonly Attempt[]): boolean {
  const { left, right, contested } = standing(attempts)
  return left === 0 || right === 0 || contested * 8 < attempts.length
}

function standing(attempts: readonly Attempt[]) {
  const won = attempts.filter(({ outcome }) => 'accepted' in outcome && outcome.accepted)
  const winsOf = (who: string): number => won.filter((attempt) => attempt.who === who).length
  const byCall = Map.groupBy(attempts, ({ callId }) => callId)
  const contested = won.filter(({ callId, who, endedAt }) =>
    byCall.get(callId)!.some((other) => other.who !== who && other.begunAt < endedAt),
  ).length
  return { wins: won.length, contested, left: winsOf('left'), right: winsOf('right') }
}

function judged(approvals: number, attempts: readonly Attempt[], effects: readonly Effect[]) {
  const stood = standing(attempts)
  const counts = {
    approvals,
    submissions: attempts.length,
    losers: attempts.length - stood.wins,
    effects: effects.length,
    ...stood,
  }
  const notExercised: string[] = []
  if (counts.left === 0 || counts.right === 0) notExercised.push('one process won everything: there was no race')
  if (stood.contested * 4 < approvals)
    notExercised.push('fewer than a quarter of the approvals were submitted at the same time')
  return { counts, notExercised }
}

await runCommand(import.meta, doubleApproval)
