import fc from 'fast-check'
import type { NewEvent } from '../../../src/log/events.ts'
import type { CommitResult } from '../../../src/store/change.ts'
import { commit } from '../contract/commit.ts'
import { changePlan, plannedChange } from '../generate/changes.ts'
import { conversationIds } from '../generate/names.ts'
import { atConversation } from '../generate/places.ts'
import { value } from '../generate/values.ts'
import { command } from './command.ts'
import { checkCommit, commitChange } from './commit-change.ts'

const group = fc.uniqueArray(
  fc.record({
    ...atConversation,
    id: fc.constantFrom(...conversationIds),
    plan: changePlan.map((plan) => ({
      ...plan,
      acquire: null,
      calls: [],
      events: plan.events.map((event) => ({ ...event, blob: null })),
    })),
  }),
  { minLength: 2, maxLength: 6, selector: ({ tenant, id }) => JSON.stringify([tenant, id]) },
)

export const commitCommands = [
  command({
    name: 'commit',
    weight: 30,
    args: fc.record({ ...atConversation, plan: changePlan }),
    async run(world, { plan, ...place }) {
      const tenant = world.contract.tenant(place.tenant)
      const change = plannedChange(world, { tenant, conversation: tenant.conversations.get(place.id) }, plan)
      await commitChange(world, place, change)
    },
  }),
  command({
    // Concurrent commits share a transaction; one that is refused fails alone.
    name: 'commitsAtOnce',
    weight: 6,
    args: group,
    async run(world, members) {
      const changes = members.map(({ plan, ...place }) => {
        const tenant = world.contract.tenant(place.tenant)
        return {
          place,
          change: plannedChange(world, { tenant, conversation: tenant.conversations.get(place.id) }, plan),
        }
      })
      const work = changes.map(({ place, change }) =>
        world.observe(() => world.handle(place.tenant, place.via).commit(place.id, change)),
      )
      const observed = await Promise.all(work)
      for (const [index, one] of observed.entries()) {
        const { place, change } = changes[index]!
        await checkCommit(world, place, change, one)
      }
    },
  }),
  command({
    name: 'commitsOnOneSeq',
    weight: 2,
    args: fc.record({ ...atConversation, values: fc.array(value, { minLength: 2, maxLength: 4 }) }),
    async run(world, { tenant: name, id, values }) {
      const tenant = world.contract.tenant(name)
      const expectedSeq = tenant.conversations.get(id)?.events.length ?? 0
      const changes = values.map((member) => ({
        events: [{ type: 'seeded', content: { state: world.stored(member) } } satisfies NewEvent],
        expectedSeq,
      }))
      await world.act(
        async () => {
          const results = await allEnded(changes.map((change, via) => world.handle(name, via).commit(id, change)))
          return results.map(withoutTime)
        },
        (at, actual) => {
          const winner = Math.max(0, actual?.findIndex(({ ok }) => ok) ?? 0)
          commit(tenant, id, changes[winner]!, at)
          const lost = { ok: false, conflict: 'seq', lastSeq: expectedSeq + 1 }
          return changes.map((_, index) => (index === winner ? { ok: true, seq: expectedSeq + 1 } : lost))
        },
      )
    },
  }),
  command({
    name: 'commitsOfOneKey',
    weight: 2,
    args: fc.record({ ...atConversation, state: value, times: fc.integer({ min: 2, max: 4 }) }),
    async run(world, { tenant: name, id, state, times }) {
      const tenant = world.contract.tenant(name)
      const events: NewEvent[] = [{ type: 'seeded', content: { state: world.stored(state) } }]
      const change = { events, key: `once-${++world.counter}`, digest: 'one' }
      await world.act(
        async () => {
          const all = Array.from({ length: times }, (_, via) => world.handle(name, via).commit(id, change))
          return (await allEnded(all)).map(withoutTime)
        },
        (at) => {
          const { seq } = commit(tenant, id, change, at) as { seq: number }
          return Array.from({ length: times }, () => ({ ok: true, seq }))
        },
      )
    },
  }),
]

/** Like `Promise.all`, but rejects only when all have ended: what goes on after a refusal would meet the next command. */
async function allEnded<T>(all: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(all)
  return Promise.all(all)
}

function withoutTime(result: CommitResult): CommitResult {
  return result.ok ? { ok: true, seq: result.seq } : result
}
