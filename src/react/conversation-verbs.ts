import type { RemoteConversation } from '../client/conversation.ts'
import type { ConversationStore } from './conversation-store.ts'
import { newKey, untilAcknowledged } from './until-acknowledged.ts'

/**
 * The verbs of the client for one conversation. `send`, `retry` and answers have a key of their own, and are repeated for up to 30 seconds while the server cannot
 * be reached: a lost acknowledgement makes nothing happen twice.
 */
export type ConversationVerbs = Omit<RemoteConversation, 'view' | 'views' | 'watch'> & {
  /** `extendDeadline` of the client. */
  readonly extend: RemoteConversation['extendDeadline']
  /** Reads the messages before the first one that is shown. */
  loadOlder(): Promise<void>
  /** Connects again, also after the server has refused. */
  reload(): void
}

export function conversationVerbs(store: ConversationStore, handle: RemoteConversation): ConversationVerbs {
  const { view: _, views: __, watch: ___, ...verbs } = handle
  /** A conversation begins with its first message: there was nothing to follow before. */
  const follow = (): void => {
    if (store.live.value.status === 'gone') store.reload()
  }
  return {
    ...verbs,
    async send(message, options) {
      const key = options?.key ?? newKey()
      const entry = { key, message, at: Date.now() }
      store.setSending((sending) => [...sending, entry])
      try {
        const sent = await untilAcknowledged(() => handle.send(message, { ...options, key }))
        follow()
        await store.shows(sent.turnId)
        return sent
      } finally {
        store.setSending((sending) => sending.filter((other) => other !== entry))
      }
    },
    async retry(turnId, options) {
      const key = options?.key ?? newKey()
      return untilAcknowledged(() => handle.retry(turnId, { ...options, key }))
    },
    approve: (call, options) => {
      const key = options?.key ?? newKey()
      return untilAcknowledged(() => handle.approve(call, { ...options, key }))
    },
    deny: (call, options) => {
      const key = options?.key ?? newKey()
      return untilAcknowledged(() => handle.deny(call, { ...options, key }))
    },
    answer: (call, value, options) => {
      const key = options?.key ?? newKey()
      return untilAcknowledged(() => handle.answer(call, value, { ...options, key }))
    },
    resolve: (call, value, options) => {
      const key = options?.key ?? newKey()
      return untilAcknowledged(() => handle.resolve(call, value, { ...options, key }))
    },
    extend: handle.extendDeadline,
    async delete() {
      const isDeleted = await handle.delete()
      store.setGone()
      return isDeleted
    },
    loadOlder: store.loadOlder,
    reload: store.reload,
  }
}
