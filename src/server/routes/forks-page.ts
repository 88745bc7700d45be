import type { Conversation } from '../../runtime/conversation.ts'
import type { ListedConversation } from '../../runtime/read/listed-conversation.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import type { Page } from '../../store/store.ts'
import { json } from '../answer.ts'
import type { RouteCall } from '../route.ts'
import { pageOf } from './page-of.ts'

const forksPerPage = 50

export const pageOfForks = {
  status: 200,
  description: '`before` asks for the page after this one; null when there is none.',
}

export async function forksOf(
  call: RouteCall,
  forked: { forks(page?: Page): Promise<ConversationRecord[]> },
): Promise<Response> {
  const { items, before } = await pageOf(call, forksPerPage, (page) => forked.forks(page))
  return json({ forks: items.map(listed), before })
}

export const lineageAnswer = {
  status: 200,
  description: 'Ids, and up to which event they were copied. `hasMore`: ask for the lineage of the last of them.',
}

const ancestorsPerPage = 1_000

export async function lineageOf(forked: Pick<Conversation, 'lineage'>): Promise<Response> {
  const lineage = await forked.lineage({ limit: ancestorsPerPage })
  return json({ lineage, hasMore: lineage.length === ancestorsPerPage })
}

/** What a list tells of a conversation or session. */
export function listed(record: ListedConversation) {
  const { id, kind, agent, status, title, parent, lastSeq, createdAt, updatedAt, quarantine, unreadable, problem } =
    record
  const told = {
    ...(quarantine ? { quarantinedAt: quarantine.at } : {}),
    ...(unreadable ? { unreadable } : {}),
    // Its text may have what the record holds.
    ...(problem ? { problem: { code: problem.code } } : {}),
  }
  return { id, kind, agent, status, title, parent, lastSeq, createdAt, updatedAt, ...told }
}
