'use client'
import { useChat } from '@ai-sdk/react'
import { type FormEvent, useEffect, useState } from 'react'
import { isChatBusy, type OpenChat, openChat } from './open-chat.ts'
import { Ending, Part } from './part.tsx'

/** Shows what the log has, then follows it. */
export function Chat({ url, id }: { readonly url: string; readonly id: string }) {
  const [open, setOpen] = useState<OpenChat | null>(null)
  useEffect(() => {
    let isShown = true
    void openChat(url, id).then((opened) => isShown && setOpen(opened))
    return () => {
      isShown = false
    }
  }, [url, id])
  return open?.chat.id === id ? <Messages key={id} open={open} /> : <p>Loading</p>
}

function Messages({ open }: { readonly open: OpenChat }) {
  const [notice, setNotice] = useState('')
  const [edited, setEdited] = useState<string | null>(null)
  useEffect(() => {
    open.onNotice = setNotice
  }, [open])
  // Joins a turn that is still running or waiting. When the component is unmounted, the turn continues.
  const chat = useChat({ chat: open.chat, resume: true })
  const isBusy = isChatBusy(chat)
  const last = chat.messages.at(-1)

  function send(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    event.currentTarget.reset()
    setEdited(null)
    // With the id of an earlier message, this one takes its place.
    void chat.sendMessage(edited === null ? { text } : { text, messageId: edited })
  }

  return (
    <main>
      {chat.messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end
            <Part key={index} part={part} message={message} isBusy={isBusy} answer={chat.addToolApprovalResponse} />
          ))}
          <Ending message={message} />
          {message.role === 'user' && !isBusy && (
            <button type="button" onClick={() => setEdited(message.id)}>
              Edit
            </button>
          )}
        </article>
      ))}
      {last?.role === 'assistant' && !isBusy && (
        <button type="button" onClick={() => void chat.regenerate()}>
          Try again
        </button>
      )}
      <output>{notice}</output>
      <form onSubmit={send}>
        <input name="text" placeholder={edited ? 'Say it differently' : 'Say something'} disabled={isBusy} />
        {isBusy && (
          <button type="button" onClick={() => void chat.stop()}>
            Stop
          </button>
        )}
      </form>
    </main>
  )
}
