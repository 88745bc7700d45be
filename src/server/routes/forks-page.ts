import type { ListedConversation } from '../../runtime/listed-conversation.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import type { Page } from '../../store/store.ts'
import { json } from '../answer.ts'

const forksPerPage = 50

export const pageOfForks = {
  status: 200,
  description: '`before` asks for the page after this one; null when there is none.',
}

export async function forksOf(
  forked: { forks(page?: Page): Promise<ConversationRecord[]> },
  query: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const page = { limit: forksPerPage, ...query } as Page & { limit: number }
  const records = await forked.forks(page)
  const before = records.length === page.limit ? (records.at(-1)?.id ?? null) : null
  return json({ forks: records.map(listed), before })
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
