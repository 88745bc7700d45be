/** A chat page over the AI SDK's own hook. Reload it, close it, open it twice: the log is on the server, and so is what waits for you. */
import { useChat } from '@ai-sdk/react'
import { getToolName, isToolUIPart, type UIMessage } from 'ai'
import { type FormEvent, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { isChatBusy, type OpenChat, openChat } from './open-chat.ts'

/** Shows what the log has, then follows it. */
export function Page({ url, id }: { readonly url: string; readonly id: string }) {
  const [open, setOpen] = useState<OpenChat | null>(null)
  useEffect(() => {
    let isShown = true
    void openChat(url, id).then((opened) => isShown && setOpen(opened))
    return () => {
      isShown = false
    }
  }, [url, id])
  return open?.chat.id === id ? <Chat key={id} open={open} /> : <p>Loading</p>
}

function Chat({ open }: { readonly open: OpenChat }) {
  const [notice, setNotice] = useState('')
  useEffect(() => {
    open.onNotice = setNotice
  }, [open])
  // Joins a turn that is still running or waiting. When the component is unmounted, the turn continues.
  const chat = useChat({ chat: open.chat, resume: true })
  const isBusy = isChatBusy(chat)

  function send(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    event.currentTarget.reset()
    void chat.sendMessage({ text })
  }

  return (
    <main>
      {chat.messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end
            <Part key={index} part={part} message={message} isBusy={isBusy} answer={chat.addToolApprovalResponse} />
          ))}
        </article>
      ))}
      <output>{notice}</output>
      <form onSubmit={send}>
        <input name="text" placeholder="Say something" disabled={isBusy} />
        {isBusy && (
          <button type="button" onClick={() => void chat.stop()}>
            Stop
          </button>
        )}
      </form>
    </main>
  )
}

type PartProps = {
  readonly part: UIMessage['parts'][number]
  readonly message: UIMessage
  /** The hook forgets what is answered while it takes up a turn. */
  readonly isBusy: boolean
  readonly answer: (answer: { id: string; approved: boolean }) => void | PromiseLike<void>
}

function Part({ part, message, isBusy, answer }: PartProps) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'file') return <img src={part.url} alt={part.filename ?? ''} />
  if (!isToolUIPart(part)) return null
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`
  if (part.state !== 'approval-requested') return <pre>{`${call}: ${part.state}`}</pre>
  const { id } = part.approval
  return (
    <fieldset disabled={isBusy}>
      <legend>{saidOf(message, part.toolCallId) ?? call}</legend>
      <button type="button" onClick={() => void answer({ id, approved: true })}>
        Approve
      </button>
      <button type="button" onClick={() => void answer({ id, approved: false })}>
        Deny
      </button>
    </fieldset>
  )
}

/** What the call will do, in one line, where its tool has `describe`. */
function saidOf({ parts }: UIMessage, callId: string): string | undefined {
  const questions = parts.flatMap((part) => (part.type === 'data-question' ? [part.data as Question] : []))
  return questions.find((question) => question.callId === callId)?.description
}
type Question = { readonly callId: string; readonly description?: string }

const root = document.getElementById('root')
if (root) createRoot(root).render(<Page url="http://127.0.0.1:4111/ui/support" id="ticket-42" />)
