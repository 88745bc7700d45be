import type { ConversationRef } from '../../../src/store/records.ts'
import type { Span } from '../compare/span.ts'
import { isLeased, isSuspect } from './leases.ts'
import type { Contract } from './state.ts'

type Due = ConversationRef & { readonly wakeAt: Span; readonly isSuspect: boolean }

/** Null when the answer is one the contract allows: all that is due, the longest due first, cut at the limit. */
export function dueWorkProblem(
  contract: Contract,
  { agents, limit, suspects = limit }: { agents: readonly string[]; limit: number; suspects?: number },
  now: Span,
  actual: readonly ConversationRef[],
): string | null {
  const all = dueConversations(contract, agents, now)
  // Of those that have lapses, some: which of them is looked at below.
  const listedNames = new Set(actual.map(nameOf))
  const suspected = all.filter((item) => item.isSuspect)
  const chosen = new Set(suspected.filter((item) => listedNames.has(nameOf(item))))
  if (chosen.size > suspects) return `${chosen.size} with lapses were given, and ${suspects} asked for`
  for (const item of chosen) {
    const earlier = suspected.find((other) => !chosen.has(other) && other.wakeAt.isCertainlyBefore(item.wakeAt))
    if (earlier) return `${nameOf(earlier)} has lapses, is due for longer than ${nameOf(item)} and was left out`
  }
  const isShort = chosen.size < Math.min(suspects, suspected.length)
  if (isShort && actual.length < limit)
    return `${suspected.length} with lapses are due, got ${chosen.size} of ${suspects}`
  const due = all.filter((item) => !item.isSuspect || chosen.has(item))
  const names = new Map(due.map((item) => [nameOf(item), item]))
  const listed = actual.map((item) => names.get(nameOf(item)))
  if (listed.includes(undefined) || new Set(listed).size !== actual.length) {
    return `due are ${[...names.keys()].join()}, got ${actual.map(nameOf).join()}`
  }
  if (actual.length !== Math.min(limit, due.length)) {
    return `${due.length} are due and the limit is ${limit}, got ${actual.length}`
  }
  const left = due.filter((item) => !listed.includes(item))
  const ordered = listed as Due[]
  for (const [index, item] of ordered.entries()) {
    const earlier = [...ordered.slice(index + 1), ...left].find((other) => other.wakeAt.isCertainlyBefore(item.wakeAt))
    if (earlier) return `${nameOf(earlier)} is due for longer than ${nameOf(item)} and comes after it`
  }
  return null
}

function dueConversations(contract: Contract, agents: readonly string[], now: Span): Due[] {
  const due: Due[] = []
  for (const [tenant, { conversations }] of contract.tenants) {
    for (const conversation of conversations.values()) {
      const { id, agent, wakeAt } = conversation
      if (agent === null || !agents.includes(agent) || wakeAt === null || isLeased(conversation, now)) continue
      if (wakeAt.hi <= now.lo) due.push({ tenant, id, wakeAt, isSuspect: isSuspect(conversation, now) })
      else if (wakeAt.lo <= now.hi) throw new Error(`a wake-up falls due while it is looked for: ${tenant} ${id}`)
    }
  }
  return due
}

function nameOf({ tenant, id }: ConversationRef): string {
  return JSON.stringify([tenant, id])
}
