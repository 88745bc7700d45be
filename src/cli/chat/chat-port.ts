import { pause } from '../../base/abort.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Json } from '../../base/json.ts'
import type { RemoteConversation } from '../../client/conversation.ts'
import { emptyState } from '../../log/state.ts'
import type { Answered, WinningResolution } from '../../runtime/answer-call.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { viewOf } from '../../view/view-of.ts'
import type { Target } from '../target/open-target.ts'
import type { Decision } from './ask-decision.ts'

/** The verbs that a chat needs of a conversation. */
export type ChatPort = {
  /** Returns the id of the message's turn. */
  send(text: string, whenBusy: 'queue' | 'steer'): Promise<string>
  /** Ends the open turn. */
  cancel(): Promise<void>
  decide(item: PendingItem, decision: Decision): Promise<Answered>
  /** The answer to a call, here or in a child agent; null when there is none. */
  resolutionOf(item: PendingItem): Promise<WinningResolution | null>
  /** The view now, and whenever it has changed. Ends with the signal. */
  views(signal: AbortSignal, onDisconnect: (error: unknown) => void): AsyncGenerator<View, void, void>
}

export type ChatTarget = Pick<Target, 'conversation'>

/** `data` comes with each message. */
export type ChatOptions = { readonly agent?: string; readonly data?: Json }

const lookAgainMs = 1_000
const mostRefusals = 5

/** A conversation that does not exist yet is empty until its first message. */
export function chatPort(target: ChatTarget, id: string, { agent, data }: ChatOptions = {}): ChatPort {
  const conversation: RemoteConversation = target.conversation(id, agent === undefined ? {} : { agent })
  const begun = Promise.withResolvers<void>()
  return {
    async send(text, whenBusy) {
      const { turnId } = await conversation.send(text, { whenBusy, ...(data === undefined ? {} : { data }) })
      begun.resolve()
      return turnId
    },
    cancel: async () => void (await conversation.cancel()),
    decide: (item, decision) => {
      if (decision.verb === 'answer') return conversation.answer(item, decision.value)
      if (decision.verb === 'deny') return conversation.deny(item, decision)
      return conversation.approve(item, 'args' in decision ? { args: decision.args } : {})
    },
    async resolutionOf({ conversationId, callId, round }) {
      for await (const events of target.conversation(conversationId).eventPages()) {
        const found = events.find(
          (event) => event.type === 'resolution' && event.content.callId === callId && event.content.round === round,
        )
        if (found?.type === 'resolution') return { ...found.content, at: found.at }
      }
      return null
    },
    async *views(signal, onDisconnect) {
      let isTold = false
      let refusals = 0
      while (!signal.aborted) {
        try {
          for await (const view of conversation.views({ signal, onDisconnect })) {
            isTold = true
            refusals = 0
            yield view
          }
          return
        } catch (error) {
          const code = PerdureError.isInstance(error) ? error.code : null
          // A new snapshot has everything that was missed.
          if (code === 'watcher_lagged') continue
          // A restarted server has a new token, and writes it a moment after it listens.
          if (code === 'unauthenticated' && isTold && refusals < mostRefusals) {
            refusals += 1
            await pause(lookAgainMs, { signal })
            continue
          }
          if (code !== 'conversation_not_found') throw error
          if (!isTold) yield viewOf(id, emptyState)
          isTold = true
          // Another process may send the first message.
          await Promise.race([begun.promise, pause(lookAgainMs, { signal })])
        }
      }
    },
  }
}
