import fc from 'fast-check'
import { baseOf } from '../../../src/log/state.ts'
import type { Summary } from '../../../src/store/summary.ts'
import { openCalls } from '../contract/call-states.ts'
import { folded } from '../contract/folded.ts'
import { events, latestSummary, since } from '../contract/queries.ts'
import { type Conversation, Refused } from '../contract/state.ts'
import { eventPlan, plannedEvent } from '../generate/events.ts'
import { pick } from '../generate/names.ts'
import { atConversation } from '../generate/places.ts'
import { value } from '../generate/values.ts'
import { appendEvent } from './append-event.ts'
import { command } from './command.ts'

const bound = fc.option(fc.nat({ max: 12 }), { nil: undefined })

export const logCommands = [
  command({
    name: 'appendEvent',
    weight: 8,
    args: fc.record({ ...atConversation, event: eventPlan }),
    async run(world, { tenant: name, id, via, event: plan }) {
      const tenant = world.contract.tenant(name)
      const event = plannedEvent(world, tenant, tenant.conversations.get(id), plan)
      await appendEvent(world, { tenant: name, id, via }, event)
    },
  }),
  command({
    name: 'streamEvents',
    weight: 8,
    args: fc.record({
      ...atConversation,
      after: bound,
      before: bound,
      limit: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    }),
    async run(world, { tenant: name, id, via, after, before, limit }) {
      const range = {
        ...(after !== undefined && { after }),
        ...(before !== undefined && { before }),
        ...(limit !== undefined && { limit }),
      }
      await world.act(
        () => world.handle(name, via).streamEvents(id, range),
        () => events(world.contract.tenant(name), id, range),
      )
    },
  }),
  command({
    name: 'loadSince',
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).loadSince(id),
        () => since(world.contract.tenant(name), id),
      )
    },
  }),
  command({
    name: 'putSummary',
    args: fc.record({ ...atConversation, pick, content: value, version: fc.nat(), hasBase: fc.boolean() }),
    async run(world, { tenant: name, id, via, pick: index, content, version, hasBase }) {
      const conversation = world.contract.tenant(name).conversations.get(id)
      const toSeq = summarisable(conversation, index)
      const base = hasBase && conversation ? folded(conversation.events.slice(0, toSeq)) : null
      const summary: Summary = {
        fromSeq: Math.min(1, toSeq),
        toSeq,
        version,
        content: world.stored(content),
        base: base && baseOf(base),
      }
      await world.act(
        () => world.handle(name, via).putSummary(id, summary),
        () => {
          if (!conversation) throw new Refused('conversation_not_found')
          conversation.summaries.set(toSeq, summary)
          return undefined
        },
      )
    },
  }),
  command({
    name: 'latestSummary',
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).latestSummary(id),
        () => latestSummary(world.contract.tenant(name), id),
      )
    },
  }),
]

/** A summary ends a turn, so no call is open where it ends, and none is between its message and its own event. */
function summarisable(conversation: Conversation | undefined, index: number): number {
  const events = conversation?.events ?? []
  let toSeq = index % (events.length + 1)
  while (openCalls(events.slice(0, toSeq)).length > 0 || events[toSeq]?.type === 'tool_call') toSeq--
  return toSeq
}
