import { createClient } from 'perdure/client'
import { PerdureProvider, useConversation } from 'perdure/react'
import { memo } from 'react'
import { createRoot } from 'react-dom/client'
import type { guide } from './server.ts'

const asked = new URLSearchParams(location.search)
const client = createClient({ url: asked.get('url') ?? 'http://127.0.0.1:4111' })

function Chat({ id }: { readonly id: string }) {
  const tools = { locate: () => ({ latitude: 48.2, longitude: 16.4 }) }
  const chat = useConversation<typeof guide>(id, { agent: 'guide', tools })
  const approve = chat.pending.find(({ kind }) => kind === 'approval')
  const written = [...chat.messages, ...(chat.view?.drafts ?? [])]
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void chat.send(String(new FormData(event.currentTarget).get('text')))
      }}
    >
      {written.map((message) => (
        <Message key={'seq' in message ? message.seq : message.messageId} parts={message.parts} />
      ))}
      {chat.sending.length > 0 && <p>Sending</p>}
      {approve && <input type="button" value={approve.description} onClick={() => chat.approve(approve)} />}
      <input name="text" placeholder={chat.status === 'live' ? 'Say something' : chat.status} />
    </form>
  )
}

const Message = memo(({ parts }: { readonly parts: readonly object[] }) => (
  <p>{parts.map((part) => ('text' in part ? String(part.text) : ''))}</p>
))

createRoot(document.querySelector('#root')!).render(
  <PerdureProvider client={client}>
    <Chat id={asked.get('id') ?? 'walk-1'} />
  </PerdureProvider>,
)
