/** Two components of the same conversation, the inbox and the connection. Counts what is rendered and run in `window.counts`. */
import { createClient } from 'perdure/client'
import {
  PerdureProvider,
  useConnection,
  useConversation,
  useConversations,
  useDraft,
  useInbox,
  useModelCalls,
  useSession,
  useSessions,
  useTotals,
} from 'perdure/react'
import { memo, StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { support } from './hooks-server.ts'

const asked = new URLSearchParams(location.search)
const id = asked.get('id')!
const client = createClient({ url: asked.get('url')! })

type Counts = { list: number; messages: Record<string, number>; drafts: number; header: number }
const counts: Counts = { list: 0, messages: {}, drafts: 0, header: 0 }
Object.assign(window, { counts })

/** Shared by all tabs, and kept over a reload. */
function countRun(): number {
  const runs = Number(localStorage.getItem('runs') ?? 0) + 1
  localStorage.setItem('runs', String(runs))
  return runs
}

function Header() {
  counts.header += 1
  const { status, view, error } = useConversation(id, { drafts: 'apart' })
  const connection = useConnection()
  return (
    <header>
      <b id="status">{status}</b> <b id="phase">{view?.phase}</b> <i id="connection">{connection.status}</i>
      <i id="error">{String(error)}</i>
      {connection.nextAttemptAt !== null && <u>tries again</u>}
    </header>
  )
}

function Transcript() {
  counts.list += 1
  const chat = useConversation<typeof support>(id, {
    agent: 'support',
    drafts: 'apart',
    tools: {
      locate: async ({ accuracy }, { signal }) => {
        countRun()
        if (asked.has('slow')) await new Promise((resolve) => setTimeout(resolve, 500))
        if (accuracy === 'street') throw new Error('no street is known here')
        return { latitude: signal.aborted ? 0 : 48.2 }
      },
    },
  })
  return (
    <main>
      {chat.messages.map((message) => (
        <Message key={message.seq} seq={message.seq} role={message.role} parts={message.parts} />
      ))}
      {chat.view?.drafts.map(({ messageId }) => (
        <Writing key={messageId} messageId={messageId} />
      ))}
      {chat.sending.map(({ key, message }) => (
        <em key={key}>sending {String(message)}</em>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void chat.send(String(new FormData(event.currentTarget).get('text')))
          event.currentTarget.reset()
        }}
      >
        <input name="text" placeholder="Say something" />
      </form>
    </main>
  )
}

type MessageProps = { readonly seq: number; readonly role: string; readonly parts: readonly object[] }
const Message = memo(({ seq, role, parts }: MessageProps) => {
  counts.messages[seq] = (counts.messages[seq] ?? 0) + 1
  return <article data-role={role}>{parts.map((part) => ('text' in part ? String(part.text) : ''))}</article>
})

function Writing({ messageId }: { readonly messageId: string }) {
  counts.drafts += 1
  const draft = useDraft(id, messageId)
  return <article data-role="draft">{draft?.parts.map(({ text }) => text)}</article>
}

function Inbox() {
  const inbox = useInbox()
  const [result, setResult] = useState('')
  return (
    <aside>
      <b id="inbox">{inbox.status}</b>
      {inbox.items.map((item) => (
        <p key={item.callId} className="item">
          {item.kind} {item.description}
          <button
            type="button"
            onClick={async () => {
              const said = await inbox.answer(item, item.kind === 'flow' ? { value: { ok: true } } : { approve: true })
              setResult(said.accepted ? 'accepted' : `lost to ${said.resolution.who}: ${said.resolution.status}`)
            }}
          >
            Approve
          </button>
        </p>
      ))}
      {inbox.left.map(({ item, who, status }) => (
        <p key={item.callId} className="left">
          {item.tool} {status} by {who}
        </p>
      ))}
      <b id="result">{result}</b>
    </aside>
  )
}

function Session() {
  const { session, status, start, events } = useSession('order', `order-${id}`)
  return (
    <aside>
      <b id="session">
        {status} {session?.status} {events.map(({ seq }) => seq).join(' ')}
      </b>
      <button type="button" onClick={() => start({})}>
        Start
      </button>
    </aside>
  )
}

function Calls() {
  const { calls, status, error } = useModelCalls(id)
  return <b id="calls">{error ? `${status} ${String(error)}` : calls.length}</b>
}

function Lists() {
  const conversations = useConversations({ agent: 'support', text: id, limit: 1 })
  const sessions = useSessions({ text: id })
  const { totals, status } = useTotals()
  const { hasMore, loadMore } = conversations
  return (
    <aside>
      <b id="conversations">{conversations.items.map((item) => `${item.id} ${item.status}`).join(', ')}</b>
      <b id="sessions">{sessions.items.map((item) => `${item.flow} ${item.id} ${item.status}`).join(', ')}</b>
      <b id="totals">
        {status} {totals?.sessions.done ?? 0}
      </b>
      <button type="button" disabled={!hasMore} onClick={() => void loadMore()}>
        More
      </button>
    </aside>
  )
}

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <PerdureProvider client={client}>
      <Header />
      <Transcript />
      <Inbox />
      {asked.has('more') && <Session />}
      {asked.has('more') && <Calls />}
      {asked.has('lists') && <Lists />}
    </PerdureProvider>
  </StrictMode>,
)
