import fc from 'fast-check'
import { type ConversationStatus, phaseOf, statusOf } from '../../../src/log/fsm-state.ts'
import { Exact } from '../compare/difference.ts'
import { commit } from '../contract/commit.ts'
import { folded } from '../contract/folded.ts'
import { isQuarantined } from '../contract/leases.ts'
import { conversationRecord, conversations } from '../contract/queries.ts'
import { deleteConversation } from '../contract/removal.ts'
import { type Conversation, Refused } from '../contract/state.ts'
import { attrs, countAttrs, fsmState, kind, status } from '../generate/attrs.ts'
import { listBounds } from '../generate/bounds.ts'
import { agent, conversationId, owner } from '../generate/names.ts'
import { atConversation, atTenant } from '../generate/places.ts'
import { value } from '../generate/values.ts'
import { command } from './command.ts'

/** What a caller may say of it; null where the log makes no sense. Of a session, only whether it has ended. */
function statusesOf(known: Conversation | undefined, kind = known?.kind): readonly ConversationStatus[] | null {
  const events = known?.events ?? []
  if (kind === 'flow')
    return events.some(({ type }) => type === 'flow_ended')
      ? ['ended', 'failed']
      : ['active', 'suspended', 'sleeping', 'idle']
  if (events.some(({ type }) => type.startsWith('flow_'))) return null
  const state = folded(events)
  return state && [statusOf(phaseOf(state))]
}

export const conversationCommands = [
  command({
    name: 'putConversation',
    weight: 6,
    args: fc.record({ ...atConversation, attrs }),
    async run(world, { tenant: name, id, via, attrs: { title, status: asked, ...rest } }) {
      const known = world.contract.tenant(name).conversations.get(id)
      const says = statusesOf(known, rest.kind)
      const given = { ...rest, ...(title !== undefined && { title }), ...(asked && says && { status: asked }) }
      countAttrs(world, given)
      const conversation = { ...rest, ...(given.status && { status: given.status }) }
      const isNews = title !== undefined && title !== (known?.title ?? null)
      await world.act(
        () => world.handle(name, via).putConversation(id, given),
        (at) => {
          if (given.status && !says?.includes(given.status)) throw new Refused('invalid_argument')
          const change = { events: [], conversation: isNews ? { ...conversation, title } : conversation }
          commit(world.contract.tenant(name), id, change, at, { creates: true })
        },
      )
    },
  }),
  command({
    name: 'getConversation',
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).getConversation(id),
        () => conversationRecord(world.contract.tenant(name).conversations.get(id)),
      )
    },
  }),
  command({
    name: 'putFsmState',
    args: fc.record({ ...atConversation, fsmState }),
    async run(world, { tenant: name, id, via, fsmState: given }) {
      world.stored(given.pending)
      await world.act(
        () => world.handle(name, via).putFsmState(id, given),
        (at) => {
          const change = { events: [], conversation: { fsmState: given } }
          commit(world.contract.tenant(name), id, change, at, { creates: true })
        },
      )
    },
  }),
  command({
    name: 'standing',
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).standing(id),
        () => {
          const found = world.contract.tenant(name).conversations.get(id)
          if (!found) return null
          const { agent: named, owner: opener, events, idleSeq } = found
          const isIdle = idleSeq === events.length
          return { agent: named, owner: opener, lastSeq: events.length, isIdle, isQuarantined: isQuarantined(found) }
        },
      )
    },
  }),
  command({
    name: 'listConversations',
    args: fc.record({
      ...atTenant,
      found: fc.record(
        {
          kind,
          status,
          agent,
          owner,
          forkOf: conversationId,
          before: conversationId,
          text: fc.constantFrom('a', 'C', '1', 'ti'),
        },
        { requiredKeys: [] },
      ),
      bounds: listBounds,
    }),
    async run(world, { tenant: name, via, found, bounds }) {
      const filter = { ...found, ...bounds }
      await world.act(
        () => world.handle(name, via).listConversations(filter),
        () => conversations(world.contract.tenant(name), filter),
      )
    },
  }),
  command({
    name: 'deleteConversation',
    weight: 2,
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).deleteConversation(id),
        () => deleteConversation(world.contract.tenant(name), id),
      )
      // What is begun anew is later than what was deleted: under a clock that stands still it would be ahead of it.
      await world.pass(1)
    },
  }),
  command({
    name: 'putSnapshot',
    args: fc.record({ ...atConversation, snapshot: value }),
    async run(world, { tenant: name, id, via, snapshot }) {
      world.stored(snapshot)
      await world.act(
        () => world.handle(name, via).putSnapshot(id, snapshot),
        () => void world.contract.tenant(name).snapshots.set(id, snapshot),
      )
    },
  }),
  command({
    name: 'getSnapshot',
    args: fc.record(atConversation),
    async run(world, { tenant: name, id, via }) {
      await world.act(
        () => world.handle(name, via).getSnapshot(id),
        () => new Exact(world.contract.tenant(name).snapshots.get(id) ?? null),
      )
    },
  }),
]
