import fc from 'fast-check'
import type { Json } from '../../../src/base/json.ts'
import type { Executor, NewEvent, SuspensionKind } from '../../../src/log/events.ts'
import { type CallState, openCalls } from '../contract/call-states.ts'
import type { Tenant } from '../contract/state.ts'
import { finalStatus } from '../generate/calls.ts'
import { farMs } from '../generate/durations.ts'
import { assistantMessage, lastTurnId } from '../generate/events.ts'
import { pick, picked } from '../generate/names.ts'
import { atConversation, atTenant } from '../generate/places.ts'
import { text } from '../generate/texts.ts'
import { value } from '../generate/values.ts'
import type { World } from '../world.ts'
import { asOwner } from './acquire.ts'
import { command } from './command.ts'
import { commitChange } from './commit-change.ts'

const kinds: Record<string, { readonly executor: Executor; readonly kind: SuspensionKind }> = {
  approval: { executor: 'server', kind: 'approval' },
  clientApproval: { executor: 'client', kind: 'approval' },
  elicitation: { executor: 'human', kind: 'elicitation' },
  client: { executor: 'client', kind: 'client_exec' },
  child: { executor: 'agent', kind: 'sub_agent' },
}

/** Calls as the runtime logs them: message, call, suspension and row in one commit. */
export const loggedCallCommands = [
  command({
    name: 'suspendCall',
    weight: 8,
    args: fc.record({
      ...atConversation,
      name: text,
      args: value,
      prompt: value,
      how: fc.constantFrom(...Object.keys(kinds)),
      expiresInMs: fc.option(farMs),
    }),
    async run(world, { name, args, prompt, how, expiresInMs, ...place }) {
      const { executor, kind } = kinds[how]!
      const callId = `call-${++world.counter} 'ü`
      const events = openingEvents(world, place, {
        callId,
        name,
        args,
        executor,
        gated: kind === 'approval',
        expiresInMs,
      })
      world.stored(prompt)
      events.push(suspension({ callId, round: 1, kind, prompt, expiresInMs }))
      const row = { id: callId, name, args, executor, kind, prompt, round: 1, expiresInMs }
      await commitChange(world, place, { events, calls: [row], ...(await asOwner(world, place)) })
    },
  }),
  command({
    name: 'startCall',
    weight: 4,
    args: fc.record({ ...atConversation, name: text, args: value }),
    async run(world, { name, args, ...place }) {
      const callId = `call-${++world.counter} 'ü`
      const call = { callId, name, args, executor: 'server' as const, gated: false, expiresInMs: null }
      const events = openingEvents(world, place, call)
      events.push({ type: 'tool_started', content: { callId, attempt: 1 } })
      await commitChange(world, place, { events, ...(await asOwner(world, place)) })
    },
  }),
  command({
    name: 'finishCall',
    weight: 3,
    args: fc.record({ ...atTenant, pick, result: value }),
    canRun: (world, { tenant }) => startedCalls(world.contract.tenant(tenant)).length > 0,
    async run(world, { tenant, via, pick: index, result }) {
      const { id, state } = picked(startedCalls(world.contract.tenant(tenant)), index)!
      const content = { callId: state.call.callId, ok: true, result: world.stored(result) } as const
      const place = { tenant, id, via }
      await commitChange(world, place, { events: [{ type: 'tool_result', content }], ...(await asOwner(world, place)) })
    },
  }),
  command({
    name: 'answerCall',
    weight: 5,
    args: fc.record({
      ...atTenant,
      pick,
      status: finalStatus,
      answer: value,
      roundOffset: fc.constantFrom(0, 0, 0, 1),
    }),
    canRun: (world, { tenant }) => suspendedCalls(world.contract.tenant(tenant)).length > 0,
    async run(world, { tenant, via, pick: index, status, answer, roundOffset }) {
      const { id, state } = picked(suspendedCalls(world.contract.tenant(tenant)), index)!
      const { callId, round, kind } = state.pending!
      const aimed = round + roundOffset
      const logged = status === 'errored' ? 'denied' : status
      const content = {
        callId,
        round: aimed,
        kind,
        status: logged,
        value: world.stored(answer),
        who: 'somebody',
      } as const
      await commitChange(
        world,
        { tenant, id, via },
        { events: [{ type: 'resolution', content }], resolve: [{ callId, round: aimed, status, result: answer }] },
      )
    },
  }),
  command({
    // What a gated client tool does: approved in one round, executed in the next.
    name: 'nextRound',
    weight: 4,
    args: fc.record({ ...atTenant, pick, prompt: value, expiresInMs: fc.option(farMs) }),
    canRun: (world, { tenant }) => approvalsOfClients(world.contract.tenant(tenant)).length > 0,
    async run(world, { tenant, via, pick: index, prompt, expiresInMs }) {
      const { id, state } = picked(approvalsOfClients(world.contract.tenant(tenant)), index)!
      const { callId, name, args, executor } = state.call
      const { round } = state.pending!
      world.stored(prompt)
      const next = { callId, round: round + 1, kind: 'client_exec' as const, prompt, expiresInMs }
      const content = { callId, round, kind: 'approval', status: 'resolved', value: true, who: 'somebody' } as const
      await commitChange(
        world,
        { tenant, id, via },
        {
          events: [{ type: 'resolution', content }, suspension(next)],
          resolve: [{ callId, round, status: 'resolved', result: true }],
          calls: [{ id: callId, name, args, executor, kind: 'client_exec', prompt, round: round + 1, expiresInMs }],
          ...(await asOwner(world, { tenant, id, via })),
        },
      )
    },
  }),
]

type CallPlan = {
  readonly callId: string
  readonly name: string
  readonly args: Json
  readonly executor: Executor
  readonly gated: boolean
  readonly expiresInMs: number | null
}

function openingEvents(world: World, place: { tenant: string; id: string }, plan: CallPlan): NewEvent[] {
  world.stored(plan.name)
  world.stored(plan.args)
  const known = lastTurnId(world.contract.tenant(place.tenant).conversations.get(place.id))
  const turnId = known ?? `turn-${++world.counter}`
  const message = { parts: [{ type: 'text', text: 'go' } as const] }
  const opening: NewEvent[] = known
    ? []
    : [{ type: 'user_msg', content: { turnId, message, options: {}, who: 'somebody' } }]
  const { callId } = plan
  const call = { turnId, providerCallId: 'p', ifInterrupted: 'report', timeoutMs: null, ...plan } as const
  return [...opening, assistantMessage(world, turnId, [{ type: 'call', callId }]), { type: 'tool_call', content: call }]
}

type Asked = {
  readonly callId: string
  readonly round: number
  readonly kind: SuspensionKind
  readonly prompt: Json
  readonly expiresInMs: number | null
}

function suspension({ callId, round, kind, prompt, expiresInMs }: Asked): NewEvent {
  return { type: 'suspension', content: { callId, round, kind, prompt, schema: true, expiresInMs } }
}

type Found = { readonly id: string; readonly state: CallState }

function callsOf(tenant: Tenant): Found[] {
  return [...tenant.conversations.values()].flatMap(({ id, events }) =>
    openCalls(events).map((state) => ({ id, state })),
  )
}

function startedCalls(tenant: Tenant): Found[] {
  return callsOf(tenant).filter(({ state }) => state.isStarted && !state.pending)
}

function suspendedCalls(tenant: Tenant): Found[] {
  return callsOf(tenant).filter(({ state }) => state.pending !== null)
}

function approvalsOfClients(tenant: Tenant): Found[] {
  return suspendedCalls(tenant).filter(
    ({ state }) => state.pending?.kind === 'approval' && state.call.executor === 'client',
  )
}
