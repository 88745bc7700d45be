import type { Conversation } from '../../runtime/conversation.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { type ClientMessage, type ClientToolPart, toolPart } from './client-message.ts'
import { roundId } from './ui-call-of.ts'

/**
 * Takes what a page says of calls as answers to those that wait for one, and as nothing else. Who comes too late is not told here: the
 * stream shows how the call was answered. Throws when an answer is not what was asked for; those before it stand.
 */
export async function answerClaims(conversation: Conversation, view: View, message: ClientMessage): Promise<void> {
  for (const part of message.parts) {
    const claim = toolPart(part)
    const pending = claim && view.pending.find((item) => isAbout(item, claim, view, message.id))
    if (pending) await answer(conversation, pending, claim)
  }
}

/** Calls of child agents are not parts of the message: they are answered in their own conversations. */
function isAbout(item: PendingItem, { toolCallId }: ClientToolPart, view: View, turnId: string): boolean {
  return item.conversationId === view.conversationId && item.callId === toolCallId && item.turnId === turnId
}

async function answer(conversation: Conversation, item: PendingItem, claim: ClientToolPart): Promise<void> {
  const { approval, state, output, errorText } = claim
  switch (item.kind) {
    case 'approval': {
      const isThisRound = approval?.id === roundId(item.callId, item.round)
      if (!isThisRound || approval.approved === null) return
      if (approval.approved) await conversation.approve(item)
      else await conversation.deny(item, approval.reason === undefined ? {} : { reason: approval.reason })
      return
    }
    case 'client_exec': {
      if (state === 'output-available') await conversation.answer(item, { ok: true, result: output ?? null })
      else if (state === 'output-error') await conversation.answer(item, { ok: false, error: String(errorText ?? '') })
      return
    }
    case 'elicitation':
    case 'recovery':
      if (state === 'output-available') await conversation.answer(item, output ?? null)
      return
    case 'sub_agent':
      return
  }
}
