import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import type { Conversation } from '../runtime/conversation.ts'
import type { ConversationRecord } from '../store/conversation-record.ts'
import type { RouteCall } from './route.ts'

/** The conversation of a path. Throws when this caller has none of that id, whoever else has. */
export async function existing({
  verbs,
  params,
}: Pick<RouteCall, 'verbs' | 'params'>): Promise<{ conversation: Conversation; record: ConversationRecord }> {
  const id = params['id'] ?? ''
  const record = await verbs.inspect(id).record()
  if (record?.kind !== 'conversation') throw new ConversationNotFoundError(id)
  return { conversation: verbs.conversation(id), record }
}
