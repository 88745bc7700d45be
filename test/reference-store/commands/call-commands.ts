import fc from 'fast-check'
import { commit, moveDeadline } from '../contract/commit.ts'
import { callRecord, inbox, pendingCalls } from '../contract/queries.ts'
import { resolve } from '../contract/resolve.ts'
import type { Tenant } from '../contract/state.ts'
import { listBounds } from '../generate/bounds.ts'
import { countCall, finalStatus, rowWrite } from '../generate/calls.ts'
import { farMs } from '../generate/durations.ts'
import { holder, keys, owner, pick, picked } from '../generate/names.ts'
import { atConversation, atTenant } from '../generate/places.ts'
import { reason, value } from '../generate/values.ts'
import type { World } from '../world.ts'
import { command } from './command.ts'
import { commitChange } from './commit-change.ts'

export const callCommands = [
  command({
    name: 'upsertToolCall',
    weight: 6,
    args: fc.record({ ...atConversation, call: rowWrite }),
    async run(world, { tenant: name, id, via, call }) {
      countCall(world, call)
      await world.act(
        () => world.handle(name, via).upsertToolCall(id, call),
        (at) => {
          commit(world.contract.tenant(name), id, { events: [], calls: [call] }, at, { creates: true })
        },
      )
    },
  }),
  command({
    name: 'getToolCall',
    args: fc.record({ ...atTenant, pick }),
    async run(world, { tenant: name, via, pick: index }) {
      const tenant = world.contract.tenant(name)
      const callId = anyCallId(tenant, index)
      await world.act(
        () => world.handle(name, via).getToolCall(callId),
        () => callRecord(tenant.calls.get(callId)),
      )
    },
  }),
  command({
    name: 'pendingToolCalls',
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).pendingToolCalls(id),
        () => pendingCalls(world.contract.tenant(name), id),
      )
    },
  }),
  command({
    name: 'pendingInbox',
    args: fc.record({ ...atTenant, pick: fc.option(pick), owner: fc.option(owner), bounds: listBounds }),
    async run(world, { tenant: name, via, pick: index, owner: whose, bounds }) {
      const tenant = world.contract.tenant(name)
      const before = index === null ? {} : { before: anyCallId(tenant, index) }
      const page = { ...before, ...(whose !== null && { owner: whose }), ...bounds }
      await world.act(
        () => world.handle(name, via).pendingInbox(page),
        () => inbox(tenant, page),
      )
    },
  }),
  command({
    name: 'resolveToolCall',
    weight: 5,
    args: fc.record({
      ...atTenant,
      pick,
      status: finalStatus,
      result: fc.oneof(value, reason),
      who: fc.option(holder),
    }),
    async run(world, { tenant: name, via, pick: index, status, result, who }) {
      const tenant = world.contract.tenant(name)
      const callId = anyCallId(tenant, index)
      world.stored(result)
      await world.act(
        () => world.handle(name, via).resolveToolCall(callId, status, result, who === null ? {} : { who }),
        (at) => resolve(tenant, { callId, status, result, who: who ?? 'system' }, at),
      )
    },
  }),
  command({
    name: 'resolveAtOnce',
    weight: 2,
    args: fc.record({ ...atTenant, pick, status: finalStatus, times: fc.integer({ min: 2, max: 5 }) }),
    canRun: (world, { tenant }) => pendingIds(world.contract.tenant(tenant)).length > 0,
    async run(world, { tenant: name, pick: index, status, times }) {
      const tenant = world.contract.tenant(name)
      const callId = picked(pendingIds(tenant), index)!
      const all = Array.from({ length: times }, (_, via) => via)
      await world.act(
        () => Promise.all(all.map((via) => world.handle(name, via).resolveToolCall(callId, status, via))),
        (at, actual) => {
          const winner = Math.max(0, actual?.indexOf('ok') ?? 0)
          resolve(tenant, { callId, status, result: winner, who: 'system' }, at)
          return all.map((member) => (member === winner ? 'ok' : 'stale'))
        },
      )
      world.same(await world.handle(name, 0).getToolCall(callId), callRecord(tenant.calls.get(callId)))
    },
  }),
  command({
    name: 'scheduleExpiry',
    args: fc.record({ ...atConversation, pick, inMs: farMs }),
    async run(world, { tenant: name, id: otherId, via, pick: index, inMs }) {
      const { tenant, callId, id } = targetOf(world, name, otherId, index)
      await world.act(
        () => world.handle(name, via).scheduleExpiry(id, callId, inMs),
        (at) => moveDeadline(tenant, { id, callId }, inMs, at),
      )
    },
  }),
  command({
    name: 'moveDeadline',
    weight: 2,
    args: fc.record({
      ...atConversation,
      pick,
      inMs: fc.option(farMs),
      roundOffset: fc.constantFrom(0, 0, 0, 1),
      key: fc.option(fc.constantFrom(...keys)),
      extra: fc.constantFrom('none', 'none', 'none', 'none', 'title', 'call', 'twice'),
    }),
    async run(world, { pick: index, inMs, roundOffset, key, extra, ...place }) {
      const { tenant, callId, id } = targetOf(world, place.tenant, place.id, index)
      const round = (tenant.calls.get(callId)?.round ?? 1) + roundOffset
      const moved = { type: 'deadline_moved', content: { callId, round, expiresInMs: inMs, who: 'ann' } } as const
      const titled = { type: 'titled', content: { title: 'moved' } } as const
      const also = { none: [], call: [], title: [titled], twice: [moved] }[extra]
      await commitChange(
        world,
        { ...place, id },
        {
          events: [moved, ...also],
          ...(key !== null && { key }),
          ...(extra === 'call' && { calls: [{ id: 'row-1' }] }),
        },
      )
    },
  }),
  command({
    name: 'cancelExpiry',
    weight: 2,
    args: fc.record({ ...atConversation, pick }),
    async run(world, { tenant: name, id: otherId, via, pick: index }) {
      const { tenant, callId, id } = targetOf(world, name, otherId, index)
      await world.act(
        () => world.handle(name, via).cancelExpiry(id, callId),
        (at) => moveDeadline(tenant, { id, callId }, null, at),
      )
    },
  }),
  command({
    name: 'expireSoon',
    weight: 2,
    args: fc.record({ ...atTenant, pick, inMs: fc.integer({ min: 1, max: 8 }), both: fc.boolean() }),
    canRun: (world, { tenant }) => pendingIds(world.contract.tenant(tenant)).length > 0,
    async run(world, { tenant: name, via, pick: index, inMs, both }) {
      const tenant = world.contract.tenant(name)
      const [first, second] = [index, index + 1].map((each) => tenant.calls.get(picked(pendingIds(tenant), each)!)!)
      // In one log the first might expire before the other is moved.
      const isElsewhere = second!.conversationId !== first!.conversationId
      for (const { id: callId, conversationId: id } of both && isElsewhere ? [first!, second!] : [first!]) {
        await world.act(
          () => world.handle(name, via).scheduleExpiry(id, callId, inMs),
          (at) => moveDeadline(tenant, { id, callId }, inMs, at),
        )
      }
      await world.pass(inMs + 4)
    },
  }),
]

function pendingIds(tenant: Tenant): string[] {
  return [...tenant.calls.values()].filter(({ status }) => status === 'pending').map(({ id }) => id)
}

/** Mostly one there is, pending ones more often; sometimes none. */
function anyCallId(tenant: Tenant, index: number): string {
  if (index % 10 === 0) return 'no such call'
  const ids = index % 3 === 0 ? [...tenant.calls.keys()] : pendingIds(tenant)
  return picked(ids, index) ?? 'no such call'
}

function targetOf(world: World, name: string, otherId: string, index: number) {
  const tenant = world.contract.tenant(name)
  const callId = anyCallId(tenant, index)
  const id = index % 7 === 0 ? otherId : (tenant.calls.get(callId)?.conversationId ?? otherId)
  return { tenant, callId, id }
}
