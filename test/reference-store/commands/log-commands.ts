import fc from 'fast-check'
import { baseOf } from '../../../src/log/state.ts'
import type { Summary } from '../../../src/store/records.ts'
import type { EventPage } from '../../../src/store/store.ts'
import { openCalls } from '../contract/call-states.ts'
import { folded } from '../contract/folded.ts'
import { events, latestSummary, page, since } from '../contract/queries.ts'
import { type Conversation, Refused } from '../contract/state.ts'
import { eventBounds } from '../generate/bounds.ts'
import { eventPlan, plannedEvent } from '../generate/events.ts'
import { pick } from '../generate/names.ts'
import { atConversation } from '../generate/places.ts'
import { value } from '../generate/values.ts'
import { appendEvent } from './append-event.ts'
import { command } from './command.ts'

const bound = fc.nat({ max: 12 })
const range = fc
  .tuple(
    fc.record({ after: bound, before: bound, keep: fc.constantFrom('newest', 'oldest') }, { requiredKeys: [] }),
    eventBounds,
  )
  .map(([place, bounds]) => ({ ...place, ...bounds }))

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
    args: fc.record({ ...atConversation, range }),
    async run(world, { tenant: name, id, via, range: asked }) {
      await world.act(
        () => world.handle(name, via).streamEvents(id, asked),
        () => events(world.contract.tenant(name), id, asked),
      )
    },
  }),
  command({
    name: 'pageEvents',
    weight: 4,
    args: fc.record({ ...atConversation, range }),
    async run(world, { tenant: name, id, via, range: asked }) {
      await world.act(
        async () => readOut(await world.handle(name, via).pageEvents(id, asked)),
        (_, actual) => {
          const tenant = world.contract.tenant(name)
          const expected = events(tenant, id, asked)
          const { limit: _limit, maxBytes: _maxBytes, ...all } = asked
          return page(expected, events(tenant, id, all).slice(expected.length), actual?.hasMore)
        },
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
    name: 'pageSince',
    args: fc.record({ ...atConversation, bounds: eventBounds }),
    async run(world, { tenant: name, id, via, bounds }) {
      await world.act(
        async () => {
          const { summary, page: read } = await world.handle(name, via).pageSince(id, bounds)
          return { summary, ...readOut(read) }
        },
        (_, actual) => {
          const tenant = world.contract.tenant(name)
          const { events: expected, ...rest } = since(tenant, id, bounds)
          const left = since(tenant, id).events.slice(expected.length)
          return { ...rest, ...(page(expected, left, actual?.hasMore) as object) }
        },
      )
    },
  }),
  command({
    name: 'putSummary',
    args: fc.record({
      ...atConversation,
      pick,
      content: value,
      version: fc.nat(),
      hasBase: fc.boolean(),
      isPastEnd: fc.constantFrom(false, false, false, true),
      from: fc.nat({ max: 4 }),
      planned: fc.constantFrom('unsaid', 'now', 'now', 'then'),
    }),
    async run(world, args) {
      const { tenant: name, id, via, pick: index, content, version, hasBase, isPastEnd, from, planned } = args
      const conversation = world.contract.tenant(name).conversations.get(id)
      const toSeq = isPastEnd ? (conversation?.events.length ?? 0) + 1 + index : summarisable(conversation, index)
      const base = hasBase && conversation ? folded(conversation.events.slice(0, toSeq)) : null
      const summary: Summary = {
        fromSeq: Math.min(from, toSeq),
        toSeq,
        version,
        content: world.stored(content),
        base: base && baseOf(base),
      }
      const lastSeq = conversation?.events.length ?? 0
      const plannedOn = planned === 'now' ? Math.max(lastSeq, toSeq) : toSeq
      await world.act(
        () => world.handle(name, via).putSummary(id, planned === 'unsaid' ? summary : { ...summary, plannedOn }),
        () => {
          if (!conversation) throw new Refused('conversation_not_found')
          if (toSeq > conversation.events.length) throw new Refused('invalid_argument')
          const later = conversation.events.slice(plannedOn)
          if (later.some(({ type }) => type === 'superseded')) throw new Refused('summary_superseded')
          for (const known of conversation.summaries.values()) {
            const isApart = known.toSeq < summary.fromSeq || known.fromSeq > toSeq
            const isCovered = summary.fromSeq <= known.fromSeq && known.toSeq < toSeq
            if (known.toSeq !== toSeq && !isApart && !isCovered) throw new Refused('summary_overlap')
          }
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

function readOut({ events: read, ...ends }: EventPage) {
  return { events: [...read], ...ends }
}

/** A summary ends a turn, so no call is open where it ends, and none is between its message and its own event. */
function summarisable(conversation: Conversation | undefined, index: number): number {
  const events = conversation?.events ?? []
  let toSeq = index % (events.length + 1)
  while (openCalls(events.slice(0, toSeq)).length > 0 || events[toSeq]?.type === 'tool_call') toSeq--
  return toSeq
}
