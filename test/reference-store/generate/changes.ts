import fc from 'fast-check'
import type { NewEvent, SuspensionKind } from '../../../src/log/events.ts'
import type { Change, ResolveCall } from '../../../src/store/change.ts'
import { timeOfNoEvent } from '../contract/commit.ts'
import type { Conversation, Tenant } from '../contract/state.ts'
import type { World } from '../world.ts'
import { attrs, countAttrs, fsmState } from './attrs.ts'
import { countCall, finalStatus, rowWrite } from './calls.ts'
import { farMs } from './durations.ts'
import { eventPlan, plannedEvent } from './events.ts'
import { agent, digests, holder, keys, pick, picked } from './names.ts'
import { value } from './values.ts'

/** Mostly absent or right, sometimes wrong. */
const guard = fc.constantFrom('absent', 'absent', 'absent', 'right', 'right', 'wrong')

const answer = fc.record({
  pick,
  status: finalStatus,
  value,
  /** 1: another round than the call is in, which must be refused. */
  roundOffset: fc.constantFrom(0, 0, 0, 1),
  hasEvent: fc.constantFrom(true, true, false),
  /** Another end than the row's, which must be refused, but for an error. */
  contradicts: fc.constantFrom(false, false, false, false, true),
})

export const changePlan = fc.record({
  events: fc.array(eventPlan, { maxLength: 3 }),
  expectedSeq: guard,
  isOfAnotherLog: fc.constantFrom(false, false, false, false, true),
  expectedAgent: fc.option(agent, { freq: 4 }),
  epoch: guard,
  key: fc.option(fc.constantFrom(...keys), { freq: 2 }),
  digest: fc.constantFrom(...digests),
  calls: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.uniqueArray(rowWrite, { minLength: 1, maxLength: 2, selector: ({ id }) => id }) },
  ),
  resolve: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(answer, { minLength: 1, maxLength: 2 }) },
  ),
  fsmState: fc.option(fsmState, { freq: 2 }),
  wakeAt: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('now' as const, null) },
    { weight: 1, arbitrary: farMs.map((inMs) => ({ inMs })) },
  ),
  /** Only where there is a right epoch to release. */
  releases: fc.constantFrom(false, false, false, true),
  acquire: fc.option(fc.record({ holder, ttlMs: farMs, suspects: fc.constantFrom(true, true, false) }), { freq: 2 }),
  conversation: fc.option(attrs, { freq: 2 }),
  /** Where it withdraws turns from; rarely past the end, and rarely without the message that takes their place. */
  withdraws: fc.option(fc.record({ pick, hasMessage: fc.constantFrom(true, true, true, false) }), { freq: 5 }),
})

export type ChangePlan = typeof changePlan extends fc.Arbitrary<infer Plan> ? Plan : never

type Target = { readonly tenant: Tenant; readonly conversation: Conversation | undefined }

export function plannedChange(world: World, target: Target, plan: ChangePlan): Change {
  const { tenant, conversation } = target
  const withdrawal = plan.withdraws ? plannedWithdrawal(world, target, plan.withdraws) : []
  const events = [...withdrawal, ...plan.events.map((event) => plannedEvent(world, tenant, conversation, event))]
  const resolve = plannedAnswers(world, target, plan, events)
  const lastSeq = conversation?.events.length ?? 0
  const epoch = conversation?.lease?.epoch
  for (const call of plan.calls) countCall(world, call)
  if (plan.fsmState) world.stored(plan.fsmState.pending)
  if (plan.conversation) countAttrs(world, plan.conversation)
  return {
    events,
    ...(plan.expectedSeq === 'right' && { expectedSeq: lastSeq }),
    ...(plan.expectedSeq === 'wrong' && { expectedSeq: lastSeq + 1 }),
    ...(plan.expectedSeq === 'right' && plan.isOfAnotherLog && lastSeq > 0 && { expectedAt: timeOfNoEvent }),
    ...(plan.expectedSeq === 'right' && plan.expectedAgent && lastSeq > 0 && { expectedAgent: plan.expectedAgent }),
    ...(plan.epoch === 'right' && epoch !== undefined && { epoch }),
    ...(plan.epoch === 'wrong' && { epoch: Math.max(0, (epoch ?? 1) - 1) }),
    ...(plan.key !== null && { key: plan.key }),
    ...(plan.key !== null && plan.digest !== undefined && { digest: plan.digest }),
    ...(plan.calls.length > 0 && { calls: plan.calls }),
    ...(resolve.length > 0 && { resolve }),
    ...(plan.fsmState && { fsmState: plan.fsmState }),
    ...(plan.wakeAt !== undefined && { wakeAt: plan.wakeAt }),
    ...(plan.releases && plan.epoch === 'right' && epoch !== undefined && { lease: 'release' as const }),
    ...(plan.acquire && { acquire: plan.acquire }),
    ...(plan.conversation && { conversation: plan.conversation }),
  }
}

/** Appends to `events` the resolutions that belong to the answers. */
function plannedAnswers(world: World, { tenant, conversation }: Target, plan: ChangePlan, events: NewEvent[]) {
  const answers: ResolveCall[] = []
  const calls = [...tenant.calls.values()].filter((call) => call.conversationId === conversation?.id)
  const pending = calls.filter(({ status }) => status === 'pending')
  for (const { pick: index, status, value, roundOffset, hasEvent, contradicts } of plan.resolve) {
    const call = index % 5 === 0 ? picked([...tenant.calls.values()], index) : picked(pending, index)
    if (!call || answers.some(({ callId }) => callId === call.id)) continue
    const round = call.round + roundOffset
    answers.push({ callId: call.id, round, status, result: world.stored(value) })
    // No resolution ends the question of a session.
    if (!hasEvent || call.kind === 'flow') continue
    const content = {
      callId: call.id,
      round,
      kind: call.kind as SuspensionKind,
      status: loggedStatus(status, contradicts),
      value,
      who: 'somebody',
    }
    events.push({ type: 'resolution', content })
  }
  return answers
}

function loggedStatus(status: ResolveCall['status'], contradicts: boolean) {
  if (contradicts) return 'resolved'
  return status === 'errored' ? 'denied' : status
}

function plannedWithdrawal(
  world: World,
  { conversation }: Target,
  { pick: index, hasMessage }: NonNullable<ChangePlan['withdraws']>,
): NewEvent[] {
  const by = `turn-${++world.counter}`
  const fromSeq = 1 + (index % ((conversation?.events.length ?? 0) + 1))
  const message: NewEvent = {
    type: 'user_msg',
    content: { turnId: by, message: { parts: [] }, options: {}, who: 'ann' },
  }
  return [{ type: 'superseded', content: { fromSeq, by } }, ...(hasMessage ? [message] : [])]
}
