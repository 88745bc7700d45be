import fc from 'fast-check'
import { Exact } from '../compare/difference.ts'
import { Span } from '../compare/span.ts'
import { modelCalls } from '../contract/queries.ts'
import { type AuditRow, Refused } from '../contract/state.ts'
import { listBounds } from '../generate/bounds.ts'
import { farMs } from '../generate/durations.ts'
import { atConversation } from '../generate/places.ts'
import { text } from '../generate/texts.ts'
import { shortObject, value } from '../generate/values.ts'
import { Mismatch } from '../world.ts'
import { command } from './command.ts'

const turnRef = fc.constantFrom('t/1', 't/2', 'T/1', '🦊/1', '\ufffd/1')
const auditRange = fc.record(
  { turnRef, from: turnRef, skip: fc.nat({ max: 3 }), contexts: fc.boolean() },
  { requiredKeys: [] },
)

const newCall = fc.record(
  {
    turnRef,
    renderedContext: value,
    model: value,
    usage: value,
    latencyMs: fc.option(fc.nat()),
    status: text,
    summaryVersion: fc.option(fc.nat()),
    evictions: value,
    meta: fc.option(shortObject),
    at: fc.constantFrom(0, 1_000, Date.UTC(2020, 0, 1)),
  },
  { requiredKeys: ['turnRef'] },
)

export const auditCommands = [
  command({
    name: 'putModelCall',
    args: fc.record({ ...atConversation, call: newCall }),
    async run(world, { tenant: name, id, via, call }) {
      for (const part of [call.renderedContext, call.model, call.usage, call.status, call.evictions, call.meta]) {
        if (part !== undefined) world.stored(part)
      }
      await world.act(
        () => world.handle(name, via).putModelCall(id, call),
        (at) => {
          const conversation = world.contract.tenant(name).conversations.get(id)
          if (!conversation) throw new Refused('conversation_not_found')
          conversation.modelCalls.push(rowOf(call, call.at === undefined ? at.copy() : new Span(call.at)))
        },
      )
    },
  }),
  command({
    name: 'modelCalls',
    args: fc.record({ ...atConversation, found: auditRange, bounds: listBounds }),
    async run(world, { tenant: name, id, via, found, bounds }) {
      const range = { ...found, ...bounds }
      await world.act(
        () => world.handle(name, via).modelCalls(id, range),
        () => modelCalls(world.contract.tenant(name), id, range),
      )
    },
  }),
  command({
    name: 'gcModelCalls',
    weight: 2,
    args: fc.record({ ...atConversation, ttlMs: farMs }),
    async run(world, { tenant: name, id, via, ttlMs }) {
      await world.act(
        () => world.handle(name, via).gcModelCalls(id, ttlMs),
        (now) => {
          const conversation = world.contract.tenant(name).conversations.get(id)
          if (!conversation) return 0
          const kept = conversation.modelCalls.filter(({ at }) => !isOlder(at, now, ttlMs))
          const removed = conversation.modelCalls.length - kept.length
          conversation.modelCalls = kept
          return removed
        },
      )
    },
  }),
]

type NewCall = typeof newCall extends fc.Arbitrary<infer Call> ? Call : never

function rowOf({ turnRef: ref, ...call }: NewCall, at: Span): AuditRow {
  return {
    turnRef: ref,
    at,
    rest: {
      renderedContext: new Exact(call.renderedContext ?? null),
      model: new Exact(call.model ?? null),
      usage: new Exact(call.usage ?? null),
      latencyMs: call.latencyMs ?? null,
      status: call.status ?? 'ok',
      summaryVersion: call.summaryVersion ?? null,
      evictions: new Exact(call.evictions ?? null),
      meta: new Exact(call.meta ?? null),
    },
  }
}

function isOlder(at: Span, now: Span, ttlMs: number): boolean {
  if (at.hi < now.lo - ttlMs) return true
  if (at.lo >= now.hi - ttlMs) return false
  throw new Mismatch('a model call is as old as the limit, give or take the length of the test')
}
