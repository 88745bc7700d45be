import fc from 'fast-check'
import type { Delivery, DeliveryEnd } from '../../../src/store/outbox.ts'
import { Mismatch, type World } from '../world.ts'
import { command } from './command.ts'

const subscriber = 'reference'
// Not what expiry appends: the reference learns of that later.
const types = ['user_msg', 'titled', 'note', 'tool_result']
const leaseMs = 60_000
const hourMs = 3_600_000
/** A subscriber that is not claimed for so long stops. */
const weekMs = 7 * 24 * hourMs

/**
 * Delivers all that is due, and compares it with what was committed since the subscriber was registered: each event of its types once, in the order of its
 * log; nothing of what a fork has copied; nothing of what was deleted.
 */
export const outboxCommands = [
  command({
    name: 'deliver',
    weight: 2,
    args: fc.record({ via: fc.nat({ max: 5 }), fails: fc.boolean() }),
    async run(world, { via, fails }) {
      const { outbox } = world.store(via)
      if (!outbox) return
      if (!world.contract.isSubscribed) {
        await outbox.removeSubscriber(subscriber)
        await outbox.register([{ name: subscriber, types, agent: null }])
        world.contract.isSubscribed = true
        world.contract.claimedAt = world.backend.now()
        for (const conversation of all(world)) conversation.toldSeq = conversation.events.length
        return
      }
      const expected = expectedPlaces(world)
      const now = world.backend.now()
      if (now - world.contract.claimedAt >= hourMs) world.contract.claimedAt = now
      const places: string[] = []
      for (const first of await outbox.claim({ subscribers: [subscriber], limit: 10_000, leaseMs, lapsed: false })) {
        for (let delivery: Delivery | null = first; delivery; ) {
          places.push(placeOf(delivery))
          const end: DeliveryEnd = fails ? { type: 'failed', error: 'no', leaseMs } : { type: 'delivered', leaseMs }
          const settled = await outbox.settle(delivery, end)
          if (settled.type === 'lost') throw new Mismatch(`${placeOf(delivery)} was lost by its holder`)
          delivery = settled.next
        }
      }
      world.same(places.sort(), expected.sort(), 'deliveries')
      for (const conversation of all(world)) conversation.toldSeq = conversation.events.length
      const failed = await outbox.failed({ subscriber, limit: 10_000 })
      if (fails) world.same(failed.map(placeOf).sort(), expected.sort(), 'failed deliveries')
      await outbox.endFailed(
        failed.map(({ id }) => id),
        'discard',
      )
    },
  }),
]

function all(world: World) {
  return [...world.contract.tenants.values()].flatMap(({ conversations }) => [...conversations.values()])
}

function expectedPlaces(world: World): string[] {
  return [...world.contract.tenants].flatMap(([tenant, { conversations }]) =>
    [...conversations.values()].flatMap(({ id, events, toldSeq }) =>
      events.flatMap(({ type, at }, index) =>
        index >= toldSeq && types.includes(type) && at.lo < world.contract.claimedAt + weekMs
          ? [placeOf({ tenant, conversationId: id, seq: index + 1 })]
          : [],
      ),
    ),
  )
}

function placeOf({ tenant, conversationId, seq }: Pick<Delivery, 'tenant' | 'conversationId' | 'seq'>): string {
  return JSON.stringify([tenant, conversationId, seq])
}
