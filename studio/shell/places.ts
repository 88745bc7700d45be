import { Activity, Inbox, MessagesSquare, Workflow } from 'lucide-react'
import type { Totals } from 'perdure/client'
import type { ComponentType } from 'react'
import { addresses } from '../addresses.ts'

export type Icon = ComponentType<{ className?: string }>

/** A page of the rail. `count`: how many things of it need a look now, with the words that say so. */
export type Place = {
  readonly name: string
  /** What its key does. */
  readonly does: string
  readonly to: string
  readonly Icon: Icon
  readonly count?: (totals: Totals) => Count
  /** A file has no such page. */
  readonly isServer?: true
}

export type Count = { readonly value: number; readonly words: string; readonly isWaiting?: boolean }

export const places: readonly Place[] = [
  {
    name: 'Inbox',
    does: 'Go to the inbox',
    isServer: true,
    to: addresses.inbox(),
    Icon: Inbox,
    count: ({ inbox }) => ({ value: inbox.waiting, words: 'waiting', isWaiting: true }),
  },
  {
    name: 'Conversations',
    does: 'Go to the conversations',
    to: addresses.conversations(),
    Icon: MessagesSquare,
    count: ({ conversations }) => ({ value: conversations.active ?? 0, words: 'running' }),
  },
  {
    name: 'Flows',
    does: 'Go to the flows',
    to: addresses.flows(),
    Icon: Workflow,
    count: ({ sessions }) => ({ value: sessions.running ?? 0, words: 'running' }),
  },
  { name: 'Health', does: 'Go to health', to: addresses.health(), Icon: Activity, isServer: true },
]

/** Whether an address below `studioPath` belongs to a place. */
export function isAt(location: string, { to }: Place): boolean {
  return location === to || location.startsWith(`${to}/`)
}
