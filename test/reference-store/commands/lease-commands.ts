import fc from 'fast-check'
import type { LeaseNews } from '../../../src/store/lease.ts'
import { dueWorkProblem } from '../contract/due-work.ts'
import { isQuarantined, takeBack } from '../contract/leases.ts'
import { watchedLogs } from '../contract/moved-logs.ts'
import { farMs } from '../generate/durations.ts'
import { agents, holder, pick, picked } from '../generate/names.ts'
import { atConversation } from '../generate/places.ts'
import { Mismatch } from '../world.ts'
import { acquire, claimLease } from './acquire.ts'
import { command } from './command.ts'

export const leaseCommands = [
  command({
    name: 'acquireLease',
    weight: 6,
    args: fc.record({ ...atConversation, holder, ttlMs: farMs }),
    async run(world, args) {
      await acquire(world, args)
    },
  }),
  command({
    name: 'lapseLease',
    weight: 1,
    args: fc.record({ ...atConversation, holder, ttlMs: fc.integer({ min: 1, max: 4 }) }),
    async run(world, args) {
      await acquire(world, args)
      await world.pass(args.ttlMs + 4)
    },
  }),
  command({
    name: 'claimLease',
    weight: 4,
    args: fc.record({ ...atConversation, holder, ttlMs: farMs, suspects: fc.boolean() }),
    run: claimLease,
  }),
  command({
    name: 'lapseOften',
    weight: 1,
    args: fc.record({ ...atConversation, times: fc.integer({ min: 1, max: 6 }) }),
    async run(world, { times, ...place }) {
      for (let time = 0; time < times; time++) {
        await claimLease(world, { ...place, holder: `dead-${time % 2}`, ttlMs: 2, suspects: true })
        await world.pass(6)
      }
    },
  }),
  command({
    name: 'takeBackLapse',
    weight: 2,
    args: fc.record({ ...atConversation, pick }),
    async run(world, { tenant, id, via, pick: index }) {
      const conversation = world.contract.tenant(tenant).conversations.get(id)
      const epoch = picked(conversation?.lease?.lapsed ?? [], index) ?? index
      await world.act(
        () => world.handle(tenant, via).takeBackLapse(id, epoch),
        () => conversation && takeBack(conversation, epoch),
      )
    },
  }),
  command({
    name: 'unquarantine',
    weight: 1,
    args: fc.record(atConversation),
    async run(world, { tenant, id, via }) {
      await world.act(
        () => world.handle(tenant, via).unquarantine(id),
        (at) => {
          const conversation = world.contract.tenant(tenant).conversations.get(id)
          if (!conversation || !isQuarantined(conversation)) return false
          conversation.lease = null
          conversation.wakeAt = at.copy()
          conversation.isDormant = false
          conversation.updatedAt = at.copy()
          return true
        },
      )
    },
  }),
  command({
    name: 'releaseLease',
    weight: 3,
    args: fc.record({ ...atConversation, pick }),
    async run(world, { tenant: name, id: otherId, via, pick: index }) {
      const leased = [...world.contract.tenant(name).conversations.values()].filter(({ lease }) => lease)
      const { lease } = picked(leased, index) ?? {}
      const id = index % 4 === 0 ? otherId : (picked(leased, index)?.id ?? otherId)
      const epoch = lease && index % 5 !== 0 ? lease.epoch : index
      await world.act(
        () => world.handle(name, via).releaseLease(id, epoch),
        () => {
          const conversation = world.contract.tenant(name).conversations.get(id)
          if (conversation?.lease?.epoch === epoch) conversation.lease = null
          world.holding(via).gave(name, id, epoch)
        },
      )
    },
  }),
  command({
    name: 'renewLeases',
    weight: 3,
    args: fc.record({ via: fc.nat({ max: 5 }), holder, ttlMs: farMs }),
    async run(world, { via, holder: who, ttlMs }) {
      await world.act(
        async () => names(await world.store(via).renewLeases(who, ttlMs)),
        (at) => {
          const all = world
            .holding(via)
            .of(who)
            .map((lease) => ({ ...lease, seq: 0 }))
          return names(world.holding(via).keep(world.contract, who, at.plus(ttlMs), all).lost)
        },
      )
    },
  }),
  command({
    name: 'keepLeases',
    weight: 3,
    args: fc.record({
      via: fc.nat({ max: 5 }),
      holder,
      ttlMs: farMs,
      forgets: fc.nat({ max: 3 }),
      seq: fc.nat({ max: 4 }),
    }),
    async run(world, { via, holder: who, ttlMs, forgets, seq }) {
      const held = world.holding(via).of(who)
      const known = held.filter((_, index) => forgets === 0 || index % 3 !== forgets).map((one) => ({ ...one, seq }))
      await world.act(
        async () => newsOf(await world.store(via).keepLeases(who, ttlMs, known)),
        (at) => newsOf(world.holding(via).keep(world.contract, who, at.plus(ttlMs), known)),
      )
    },
  }),
  command({
    name: 'movedLogs',
    weight: 3,
    args: fc.record({
      via: fc.nat({ max: 5 }),
      behind: fc.constantFrom(0, 0, 1, 2),
      offMs: fc.constantFrom(null, 0, 0, 1),
      status: fc.constantFrom(null, null, 'active' as const, 'idle' as const),
    }),
    async run(world, { via, ...knowledge }) {
      const { watched, moved } = watchedLogs(world.contract, knowledge)
      await world.act(
        async () => names(await world.store(via).movedLogs(watched)),
        () => names(moved),
      )
    },
  }),
  command({
    name: 'dueWork',
    weight: 5,
    args: fc.record({
      via: fc.nat({ max: 5 }),
      agents: fc.subarray(agents),
      limit: fc.constantFrom(1, 2, 3, 1000),
      suspects: fc.constantFrom(undefined, 0, 1, 2),
    }),
    async run(world, { via, suspects, ...rest }) {
      const query = { ...rest, ...(suspects === undefined ? {} : { suspects }) }
      const { outcome, at } = await world.observe(() => world.store(via).dueWork(query))
      const problem = outcome.ok ? dueWorkProblem(world.contract, query, at, outcome.value) : outcome.code
      if (problem) throw new Mismatch(`dueWork: ${problem}`)
    },
  }),
]

function newsOf({ lost, grown, strays }: LeaseNews): unknown {
  const sorted = (all: readonly object[]): string[] => all.map((one) => JSON.stringify(one)).sort()
  return { lost: sorted(lost), grown: sorted(grown), strays: sorted(strays) }
}

function names(refs: readonly { readonly tenant: string; readonly id: string }[]): string[] {
  return refs.map(({ tenant, id }) => JSON.stringify([tenant, id])).sort()
}
