/** A chat page over the AI SDK's own hook. Reload it, close it, open it twice: the log is on the server, and so is what waits for you. */
import { useChat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  getToolName,
  lastAssistantMessageIsCompleteWithApprovalResponses as isAnswered,
  isToolUIPart,
  type UIMessage,
} from 'ai'
import { type FormEvent, useEffect, useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'

type ChatProps = { readonly api: string; readonly id: string }

/** Shows what the log has, then follows it. */
export function Page({ api, id }: ChatProps) {
  const [messages, setMessages] = useState<UIMessage[] | null>(null)
  useEffect(() => void messagesOf(api, id).then(setMessages), [api, id])
  return messages ? <Chat api={api} id={id} messages={messages} /> : <p>Loading</p>
}

function Chat({ api, id, messages }: ChatProps & { readonly messages: UIMessage[] }) {
  const chat = useChat({
    id,
    messages,
    transport: useMemo(() => new DefaultChatTransport({ api }), [api]),
    // Joins a turn that is still running or waiting.
    resume: messages.length > 0,
    sendAutomaticallyWhen: isAnswered,
    // Whatever went wrong, the log has what happened.
    onError: () => void messagesOf(api, id).then(chat.setMessages),
  })
  const isBusy = chat.status === 'submitted' || chat.status === 'streaming'

  function send(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    event.currentTarget.reset()
    void chat.sendMessage({ text })
  }
  // Closing the stream would only stop reading it.
  const cancel = () =>
    fetch(`${api}/${id}/cancel`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })

  return (
    <main>
      {chat.messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end
            <Part key={index} part={part} answer={chat.addToolApprovalResponse} />
          ))}
        </article>
      ))}
      <form onSubmit={send}>
        <input name="text" placeholder="Say something" disabled={isBusy} />
        {isBusy && (
          <button type="button" onClick={() => void cancel()}>
            Stop
          </button>
        )}
      </form>
    </main>
  )
}

type PartProps = {
  readonly part: UIMessage['parts'][number]
  readonly answer: (answer: { id: string; approved: boolean }) => void | PromiseLike<void>
}

function Part({ part, answer }: PartProps) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (!isToolUIPart(part)) return null
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`
  if (part.state !== 'approval-requested') return <pre>{`${call}: ${part.state}`}</pre>
  const { id } = part.approval
  return (
    <fieldset>
      <legend>{call}</legend>
      <button type="button" onClick={() => void answer({ id, approved: true })}>
        Approve
      </button>
      <button type="button" onClick={() => void answer({ id, approved: false })}>
        Deny
      </button>
    </fieldset>
  )
}

async function messagesOf(api: string, id: string): Promise<UIMessage[]> {
  const response = await fetch(`${api}/${id}/messages`)
  // A chat without messages does not exist yet.
  return response.ok ? (await response.json()).messages : []
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<Page api="http://127.0.0.1:4111/ui/support" id="ticket-42" />)
