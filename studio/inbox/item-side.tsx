import { ArrowRight } from 'lucide-react'
import type { InboxItem, ViewMessage } from 'perdure/client'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { Id } from '../parts/id.tsx'
import { Ago, AgoWords, Until } from '../parts/time.tsx'
import { visible } from '../parts/visible.ts'
import { ExtendDeadline } from './extend-deadline.tsx'
import { agentOf } from './filter.ts'
import type { ItemContext } from './use-context.ts'

const shownMessages = 5

/** Why it is asked, for whom and until when. */
export function ItemSide({ item, context, isOver }: { item: InboxItem; context: ItemContext; isOver: boolean }) {
  const { view, status } = context
  const said = (view?.messages ?? []).filter((message) => textOf(message) !== '').slice(-shownMessages)
  // Who spoke last, where its conversation may be read.
  const who = view?.messages.findLast((message) => message.role === 'user')?.who ?? item.owner
  const isFlow = item.kind === 'flow'
  return (
    <aside
      aria-label="Context"
      className="flex w-75 shrink-0 flex-col gap-4 border-l p-4 max-xl:w-full max-xl:border-t max-xl:border-l-0 xl:overflow-y-auto"
    >
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-4 gap-y-1.5">
        <Fact name="Asked">
          <AgoWords at={item.createdAt} /> by {visible(agentOf(item) || 'an agent', 60)}
        </Fact>
        {who !== null && <Fact name="For">{visible(who, 80)}</Fact>}
        <Fact name="Expires">
          <span className="flex flex-wrap items-baseline gap-x-2">
            {item.expiresAt === null ? <span>never</span> : <Until at={item.expiresAt} />}
            {!isFlow && !isOver && <ExtendDeadline item={item} />}
          </span>
        </Fact>
        {item.round > 1 && !isFlow && <Fact name="Round">{item.round}</Fact>}
        <Fact name={isFlow ? 'Session' : 'In'}>
          <span className="flex min-w-0 flex-col items-start">
            {item.title !== null && <span className="line-clamp-2 min-w-0">{visible(item.title, 120)}</span>}
            <Id id={item.path[0]?.conversationId ?? item.conversationId} />
          </span>
        </Fact>
      </dl>
      <Link href={placeOf(item)} className="inline-flex min-h-8 items-center gap-1 link max-md:min-h-11">
        {isFlow ? 'Open session' : 'Open conversation'}
        <ArrowRight className="size-4" aria-hidden />
      </Link>
      {!isFlow && (
        <section aria-label="Last messages" className="flex min-w-0 flex-col gap-3 border-t pt-4">
          {status === 'loading' && <p className="text-faint">Loading…</p>}
          {status === 'refused' && <p className="text-soft">You may answer this, but not read its conversation.</p>}
          {status === 'failed' && (
            <p className="text-soft">The conversation could not be read: {visible(context.message ?? '', 200)}</p>
          )}
          {status === 'ready' && said.length === 0 && <p className="text-faint">No messages.</p>}
          {said.map((message) => (
            <div key={message.seq} className="min-w-0">
              <p className="flex items-baseline gap-2 text-xs text-faint">
                <span className="min-w-0 truncate">
                  {message.role === 'user' ? visible(message.who, 60) : visible(agentOf(item) || 'agent', 60)}
                </span>
                <Ago at={message.at} />
              </p>
              <p className="line-clamp-6 whitespace-pre-wrap">{visible(textOf(message), 600)}</p>
            </div>
          ))}
        </section>
      )}
    </aside>
  )
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}

/** What was said, without calls and reasoning. */
function textOf(message: ViewMessage): string {
  const texts = (message.parts as readonly { readonly type: string; readonly text?: string }[])
    .slice(0, 50)
    .map(({ type, text }) => (type === 'text' ? (text ?? '') : ''))
  return texts.join('').trim()
}

/** Where an item's conversation or session is. */
function placeOf(item: InboxItem): string {
  if (item.kind === 'flow') return addresses.session(item.flow, item.conversationId)
  return addresses.conversation(item.path[0]?.conversationId ?? item.conversationId)
}
