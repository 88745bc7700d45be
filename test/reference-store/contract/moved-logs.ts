import type { ConversationRef } from '../../../src/store/records.ts'
import type { WatchedLog } from '../../../src/store/store.ts'
import { tenants } from '../generate/names.ts'
import { isQuarantined } from './leases.ts'
import type { Contract, Conversation } from './state.ts'

export type Knowledge = {
  /** By how many events each log is longer than it is known. */
  readonly behind: number
  /** How far the times that are known are from those of the events; null: none are known. */
  readonly offMs: number | null
  readonly status: WatchedLog['status']
}

type Watching = { readonly watched: WatchedLog[]; readonly moved: ConversationRef[] }

/** All logs, known in a certain way, and one that was never there; and those that are not so. */
export function watchedLogs(contract: Contract, knowledge: Knowledge): Watching {
  const watched: WatchedLog[] = [{ tenant: tenants[0]!, id: 'never there', seq: 0, at: null, status: null }]
  const moved: ConversationRef[] = []
  for (const tenant of tenants) {
    for (const conversation of contract.tenant(tenant).conversations.values()) {
      const known = knownOf(tenant, conversation, knowledge)
      watched.push(known)
      const { events, status } = conversation
      const hasOtherTime = known.at !== null && known.at !== events[known.seq - 1]!.at.at
      const stands = known.status === null || (known.status === status && !isQuarantined(conversation))
      if (events.length !== known.seq || hasOtherTime || !stands) moved.push({ tenant, id: conversation.id })
    }
  }
  return { watched, moved }
}

function knownOf(tenant: string, { id, events }: Conversation, { behind, offMs, status }: Knowledge): WatchedLog {
  const seq = Math.max(0, events.length - behind)
  const time = seq === 0 ? null : events[seq - 1]!.at
  return { tenant, id, seq, at: time?.isKnown && offMs !== null ? time.at + offMs : null, status }
}
