import { Chat } from '@ai-sdk/react'
import type { UIMessage } from 'ai'
import { type PerdureTransport, perdureTransport } from 'perdure/client'

/** A chat that outlives the component that shows it. */
export type OpenChat = {
  readonly chat: Chat<UIMessage>
  readonly transport: PerdureTransport
  /** Set by the component that shows the chat. */
  onNotice: (notice: string) => void
}

/** Outside of components: a chat that `useChat` makes by itself is stopped when its component is unmounted, which cancels the turn. */
const openChats = new Map<string, OpenChat>()

/** The one chat of this id, with what the log has. Called in effects only, because a server shares its modules among all users. */
export async function openChat(url: string, id: string): Promise<OpenChat> {
  const key = `${url}/${id}`
  const open = openChats.get(key) ?? createChat(url, id)
  openChats.set(key, open)
  const messages = isChatBusy(open.chat) ? null : await open.transport.messages<UIMessage>(id)
  // A chat that follows a turn is ahead of what was read.
  if (messages && !isChatBusy(open.chat)) open.chat.messages = messages
  return open
}

export function isChatBusy({ status }: Pick<Chat<UIMessage>, 'status'>): boolean {
  return status === 'submitted' || status === 'streaming'
}

function createChat(url: string, id: string): OpenChat {
  const transport = perdureTransport({ url })
  const chat = new Chat<UIMessage>({
    id,
    transport,
    // Sends each approval when it is clicked.
    sendAutomaticallyWhen: transport.sendAutomaticallyWhen,
    // Another person, or another tab, was first.
    onData: ({ type, data }) => {
      if (type === 'data-late-answer') open.onNotice(`${(data as { answeredBy: string }).answeredBy} answered first.`)
    },
    // Whatever went wrong, the log has what happened.
    onError: async () => {
      chat.messages = await transport.messages<UIMessage>(id)
    },
  })
  const open: OpenChat = { chat, transport, onNotice: () => {} }
  return open
}
