import fc from 'fast-check'
import { checkpoint } from '../checkpoint.ts'
import { deleteTenant } from '../contract/removal.ts'
import { passingMs } from '../generate/durations.ts'
import { atTenant } from '../generate/places.ts'
import { Mismatch } from '../world.ts'
import { appendEvent } from './append-event.ts'
import { command } from './command.ts'

export const storeCommands = [
  command({
    name: 'deleteTenant',
    weight: 1,
    args: fc.record(atTenant),
    async run(world, { tenant, via }) {
      await world.act(
        () => world.store(via).deleteTenant(tenant),
        () => deleteTenant(world.contract, tenant),
      )
      // What is begun anew is later than what was deleted: under a clock that stands still it would be ahead of it.
      await world.pass(1)
    },
  }),
  command({
    name: 'reopen',
    weight: 2,
    args: fc.record({ via: fc.nat({ max: 5 }) }),
    canRun: (world) => world.backend.isDurable,
    async run(world, { via }) {
      const closed = world.store(via)
      await world.reopen(via)
      world.tally.reopens += 1
      await closed.close()
      const { outcome } = await world.observe(() => closed.getConversation('c'))
      world.same(outcome, { ok: false, code: 'store_closed' }, 'a closed store')
      await checkpoint(world, via)
    },
  }),
  command({
    name: 'passTime',
    weight: 3,
    args: fc.record({ ms: passingMs }),
    canRun: (world) => !world.backend.isDurable,
    run: (world, { ms }) => world.pass(ms),
  }),
  command({
    name: 'onWake',
    weight: 2,
    args: fc.record(atTenant),
    async run(world, { tenant, via }) {
      const before = world.tally.hints
      const unsubscribe = world.store(via).onWake((hint) => {
        world.tally.hints += 1
        world.hints.push(hint)
      })
      const event = { type: 'titled', content: { title: 'hinted' } } as const
      await appendEvent(world, { tenant, id: 'c', via }, event)
      unsubscribe()
      if (world.tally.hints === before) throw new Mismatch('a store did not hint at its own commit')
      for (const { tenant: name, id, seq } of world.hints.splice(0)) {
        const longest = world.longest.get(JSON.stringify([name, id])) ?? -1
        if (seq > longest) throw new Mismatch(`a hint names ${name} ${id} ${seq}, which never was`)
      }
      const quiet = world.tally.hints
      await appendEvent(world, { tenant, id: 'c', via }, event)
      if (world.tally.hints !== quiet) throw new Mismatch('a listener was called after it was taken off')
    },
  }),
]
