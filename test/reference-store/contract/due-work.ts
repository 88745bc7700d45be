import type { DueClaim, SkippedConversation } from '../../../src/store/claim-due.ts'
import type { ConversationRef } from '../../../src/store/records.ts'
import type { Span } from '../compare/span.ts'
import { isLeased, isSuspect } from './leases.ts'
import type { Contract } from './state.ts'

type Due = ConversationRef & { readonly wakeAt: Span; readonly lastSeq: number; readonly isSuspect: boolean }

type Asked = { readonly agents: readonly string[]; readonly limit: number; readonly suspects?: number }

/** Null when the answer is one the contract allows: what is due, fairly over tenants, cut at the limit. */
export function dueWorkProblem(
  contract: Contract,
  asked: Asked,
  now: Span,
  actual: readonly ConversationRef[],
): string | null {
  const due = dueConversations(contract, asked.agents, now)
  return countProblem(due, asked, actual) ?? orderProblem(eligible(due, asked, actual), asked, actual)
}

/** The same of a claim. Where it leaves some alone, or is for some only, it need not be fair over tenants. */
export function claimProblem(
  contract: Contract,
  { only, except = [], suspects = 0, ...asked }: Pick<DueClaim, keyof Asked | 'only' | 'except'>,
  now: Span,
  actual: readonly ConversationRef[],
): string | null {
  const wanted = only && new Set(only.map(nameOf))
  const due = dueConversations(contract, asked.agents, now)
    .filter((item) => !wanted || wanted.has(nameOf(item)))
    .filter((item) => !isLeftAlone(item, except))
  const query = { ...asked, suspects: only ? 0 : suspects }
  if (!only && except.length === 0) {
    return countProblem(due, query, actual) ?? orderProblem(eligible(due, query, actual), query, actual)
  }
  // Those with lapses that it looks at in place of those it leaves alone may take the places of others.
  const mayBeFewer = due.some((item) => item.isSuspect) && actual.length > 0
  return countProblem(due, query, actual, mayBeFewer)
}

function isLeftAlone(item: Due, except: readonly SkippedConversation[]): boolean {
  const left = except.findLast((one) => nameOf(one) === nameOf(item))
  return left !== undefined && (left.seq === null || left.seq >= item.lastSeq)
}

function countProblem(
  due: readonly Due[],
  { limit, suspects = limit }: Asked,
  actual: readonly ConversationRef[],
  mayBeFewer = false,
): string | null {
  const names = new Set(due.map(nameOf))
  const listed = new Set(actual.map(nameOf))
  if (listed.size !== actual.length || !listed.isSubsetOf(names)) {
    return `due are ${[...names].join()}, got ${actual.map(nameOf).join()}`
  }
  const suspected = due.filter((item) => item.isSuspect)
  const given = suspected.filter((item) => listed.has(nameOf(item)))
  if (given.length > suspects) return `${given.length} with lapses were given, and ${suspects} asked for`
  const most = Math.min(limit, due.length - suspected.length + Math.min(suspects, suspected.length))
  if (actual.length > most || (actual.length < most && !mayBeFewer)) {
    return `of ${due.length} that are due, ${suspected.length} with lapses, ${most} may be given, got ${actual.length}`
  }
  return null
}

/** Without those with lapses that are not due long enough to be among the ones asked for. */
function eligible(
  due: readonly Due[],
  { limit, suspects = limit }: Asked,
  actual: readonly ConversationRef[],
): readonly Due[] {
  const listed = new Set(actual.map(nameOf))
  const suspected = due.filter((item) => item.isSuspect)
  const isCertain = (item: Due): boolean =>
    suspected.filter((other) => other !== item && !item.wakeAt.isCertainlyBefore(other.wakeAt)).length < suspects
  return due.filter((item) => !item.isSuspect || listed.has(nameOf(item)) || isCertain(item))
}

/** The first of each tenant, then the second of each, and so on; in each round, and of each tenant, those that are due longest first. */
function orderProblem(
  due: readonly Due[],
  { limit, suspects = limit }: Asked,
  actual: readonly ConversationRef[],
): string | null {
  const names = new Map(due.map((item) => [nameOf(item), item]))
  const counts = new Map<string, number>()
  const listed = actual.map((one) => {
    const round = counts.get(one.tenant) ?? 0
    counts.set(one.tenant, round + 1)
    return { ...names.get(nameOf(one))!, round }
  })
  const left = due.filter((item) => !listed.some((one) => nameOf(one) === nameOf(item)))
  const lastRound = listed.at(-1)?.round ?? 0
  // Where there are more tenants than places, which of them are served is the turn of the search.
  const tenants = new Set(due.map(({ tenant }) => tenant))
  const isCutFair = tenants.size <= limit
  for (const [index, item] of listed.entries()) {
    const after = listed.slice(index + 1)
    if (after.some(({ round }) => round < item.round)) return `${nameOf(item)} comes before its round`
    const later = [
      ...after.filter(({ tenant, round }) => tenant === item.tenant || round === item.round),
      ...left.filter(({ tenant }) => tenant === item.tenant || (isCutFair && (counts.get(tenant) ?? 0) === item.round)),
    ]
    const earlier = later.find((other) => other.wakeAt.isCertainlyBefore(item.wakeAt))
    if (earlier) return `${nameOf(earlier)} is due for longer than ${nameOf(item)} and comes after it`
  }
  const starved = isCutFair ? left.find(({ tenant }) => (counts.get(tenant) ?? 0) < lastRound) : undefined
  if (starved) return `${nameOf(starved)} was left out, and another tenant served more often`
  const early = listed.find(
    (item) =>
      item.isSuspect &&
      due.filter((other) => other.isSuspect && other.wakeAt.isCertainlyBefore(item.wakeAt)).length >= suspects,
  )
  return early ? `${nameOf(early)} has lapses, and ${suspects} that have are due for longer` : null
}

function dueConversations(contract: Contract, agents: readonly string[], now: Span): Due[] {
  const due: Due[] = []
  for (const [tenant, { conversations }] of contract.tenants) {
    for (const conversation of conversations.values()) {
      const { id, agent, wakeAt, events } = conversation
      if (agent === null || !agents.includes(agent) || wakeAt === null || isLeased(conversation, now)) continue
      const item = { tenant, id, wakeAt, lastSeq: events.length, isSuspect: isSuspect(conversation, now) }
      if (wakeAt.hi <= now.lo) due.push(item)
      else if (wakeAt.lo <= now.hi) throw new Error(`a wake-up falls due while it is looked for: ${tenant} ${id}`)
    }
  }
  return due
}

function nameOf({ tenant, id }: ConversationRef): string {
  return JSON.stringify([tenant, id])
}
