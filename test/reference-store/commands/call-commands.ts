import fc from 'fast-check'
import { commit } from '../contract/commit.ts'
import { callRecord, inbox, pendingCalls } from '../contract/queries.ts'
import { resolve } from '../contract/resolve.ts'
import { Refused, type Tenant } from '../contract/state.ts'
import { listBounds } from '../generate/bounds.ts'
import { countCall, finalStatus, rowWrite } from '../generate/calls.ts'
import { farMs } from '../generate/durations.ts'
import { holder, pick, picked } from '../generate/names.ts'
import { atConversation, atTenant } from '../generate/places.ts'
import { reason, value } from '../generate/values.ts'
import type { World } from '../world.ts'
import { command } from './command.ts'

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
    args: fc.record({ ...atTenant, pick: fc.option(pick), bounds: listBounds }),
    async run(world, { tenant: name, via, pick: index, bounds }) {
      const tenant = world.contract.tenant(name)
      const page = { ...(index !== null && { before: anyCallId(tenant, index) }), ...bounds }
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
        (at) => {
          const call = tenant.calls.get(callId)
          if (call?.conversationId !== id) throw new Refused('call_not_found')
          if (call.status === 'pending') tenant.calls.set(callId, { ...call, expiresAt: at.plus(inMs) })
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
        () => {
          const call = tenant.calls.get(callId)
          if (call?.conversationId !== id || call.status !== 'pending') return
          tenant.calls.set(callId, { ...call, expiresAt: null })
        },
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
      const callIds = [picked(pendingIds(tenant), index)!, ...(both ? [picked(pendingIds(tenant), index + 1)!] : [])]
      for (const callId of callIds) {
        const call = tenant.calls.get(callId)!
        if (call.status !== 'pending') continue
        const { at } = await world.observe(() =>
          world.handle(name, via).scheduleExpiry(call.conversationId, callId, inMs),
        )
        tenant.calls.set(callId, { ...call, expiresAt: at.plus(inMs) })
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
