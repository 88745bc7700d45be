import fc from 'fast-check'
import type { ClaimedDue, DueClaim } from '../../../src/store/claim-due.ts'
import type { Span } from '../compare/span.ts'
import { claimProblem } from '../contract/due-work.ts'
import { claim } from '../contract/leases.ts'
import { events as eventsOf, latestSummary } from '../contract/queries.ts'
import { farMs } from '../generate/durations.ts'
import { agents, conversationId, holder, tenant } from '../generate/names.ts'
import { Mismatch, type World } from '../world.ts'
import { command } from './command.ts'
import { learnQuarantine, quarantined, takeLease } from './take-lease.ts'

const ref = { tenant, id: conversationId }

export const claimDue = command({
  name: 'claimDue',
  weight: 3,
  args: fc.record(
    {
      via: fc.nat({ max: 5 }),
      ...{ holder, ttlMs: farMs, agents: fc.subarray(agents), limit: fc.constantFrom(1, 2, 3, 1000) },
      suspects: fc.constantFrom(0, 1, 2),
      except: fc.array(fc.record({ ...ref, seq: fc.constantFrom(null, 0, 1, 2, 4) }), { maxLength: 2 }),
      only: fc.array(fc.record(ref), { maxLength: 3 }),
    },
    { requiredKeys: ['via', 'holder', 'ttlMs', 'agents', 'limit'] },
  ),
  async run(world, { via, ...request }) {
    const { outcome, at } = await world.observe(() => world.store(via).claimDue(request))
    if (!outcome.ok) throw new Mismatch(`claimDue: ${outcome.code}`)
    const claimed = outcome.value
    const problem = claimProblem(world.contract, request, at, claimed)
    if (problem) throw new Mismatch(`claimDue: ${problem}`)
    // In the order of their epochs, as they were given.
    for (const one of await inOrder(world, via, claimed)) await claimedOne(world, { ...request, via }, at, one)
  },
})

async function inOrder(world: World, via: number, claimed: readonly ClaimedDue[]): Promise<ClaimedDue[]> {
  const epochs = new Map<ClaimedDue, number>()
  for (const one of claimed) {
    const { quarantine } = (await world.handle(one.tenant, via).getConversation(one.id)) ?? {}
    epochs.set(one, one.type === 'taken' ? one.epoch : (quarantine?.epoch ?? 0))
  }
  return [...claimed].sort((left, right) => epochs.get(left)! - epochs.get(right)!)
}

async function claimedOne(
  world: World,
  { holder: who, ttlMs, via }: Pick<DueClaim, 'holder' | 'ttlMs'> & { readonly via: number },
  at: Span,
  actual: ClaimedDue,
): Promise<void> {
  const { tenant: name, id } = actual
  const conversation = world.contract.tenant(name).conversations.get(id)!
  const asked = claim(conversation, { holder: who, suspects: true }, at)
  if (asked.type === 'quarantined') {
    conversation.lease = quarantined(asked.lapsed, at)
    await learnQuarantine(world, { tenant: name, id, via })
    return world.same(actual, { type: 'quarantined', tenant: name, id }, 'claimDue')
  }
  if (asked.type !== 'taken') throw new Mismatch(`claimDue took ${id}, which is ${asked.type}`)
  const { lapsed } = asked
  const given = actual.type === 'taken' ? actual.epoch : undefined
  const epoch = takeLease(world, { tenant: name, id, via, holder: who, ttlMs, lapsed }, at, given)
  const { agent, events, owner, parent } = conversation
  const fork = parent?.at === undefined ? null : { at: parent.at, owner }
  const rest = { agent, lastSeq: events.length, problem: null, fork }
  const { log, ...claimed } = actual.type === 'taken' ? actual : { ...actual, log: undefined }
  world.same(claimed, { type: 'taken', tenant: name, id, epoch, lapses: lapsed.length, ...rest }, 'claimDue')
  if (!log) return
  // A store may bring the end of the log, and the whole only where no summary stands for a part.
  const brought = [...log.events]
  const end = eventsOf(world.contract.tenant(name), id, { after: events.length - brought.length })
  world.same(brought, end, 'claimDue log')
  if (brought[0]?.seq === 1 && latestSummary(world.contract.tenant(name), id) !== null)
    throw new Mismatch(`claimDue brought the whole log of ${id}, which has a summary`)
}
