import { useConversation } from 'perdure/react'
import { useState } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { JsonView } from '../parts/json.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { useTranscript } from './transcript-context.ts'
import { useRecord } from './use-record.ts'

const mostNested = 4

/** The conversation of a child agent: a link, and its transcript in place once it is asked for. */
export function ChildAgent({ callId }: { callId: string }) {
  const { isLive, depth } = useTranscript()
  const [isShown, setShown] = useState(false)
  // The id of a child is made from its call: see docs/children.md.
  const id = `child-${callId}`
  if (!isLive) return null
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center gap-2">
        {depth < mostNested && (
          <Button kind="quiet" className="-ml-3" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? 'Hide the child agent' : 'Show the child agent'}
          </Button>
        )}
        <Link href={addresses.conversation(id)} className="link">
          Open its conversation
        </Link>
      </div>
      {!isShown && <Asked callId={callId} />}
      {isShown && <ChildTranscript id={id} depth={depth + 1} />}
    </div>
  )
}

/** What the child, or one below it, waits for: in a line, and its form after a click. */
function Asked({ callId }: { callId: string }) {
  const { ofChildren, actions } = useTranscript()
  const [answering, setAnswering] = useState<string | null>(null)
  const asked = ofChildren.filter(({ path }) => path[0]?.callId === callId)
  return asked.map((item) => {
    const key = `${item.callId} ${item.round}`
    return (
      <div key={key} className="flex flex-col gap-1 border-l-2 pl-4">
        <p className="flex flex-wrap items-center gap-2">
          <Status status="waiting" />
          <span className="min-w-0 grow">{oneLine(item.description ?? item.tool, 200)}</span>
          {actions && (
            <Button aria-expanded={answering === key} onClick={() => setAnswering(answering === key ? null : key)}>
              {answering === key ? 'Not now' : 'Answer here'}
            </Button>
          )}
        </p>
        {answering === key && (
          <>
            <JsonView value={item.args} />
            {actions?.answer(item)}
          </>
        )}
      </div>
    )
  })
}

function ChildTranscript({ id, depth }: { id: string; depth: number }) {
  const { view, messages, status } = useConversation(id, { drafts: 'apart' })
  const { actions, Nested } = useTranscript()
  const agent = useRecord(id, '').record?.agent
  if (view)
    return (
      <div className="border-l-2 pl-4">
        <Nested
          view={view}
          {...(agent && { agent })}
          messages={messages}
          isLive
          actions={actions && { ...actions, edit: null, retry: null }}
          depth={depth}
        />
      </div>
    )
  return (
    <p className="text-faint">
      {status === 'loading' ? 'Loading…' : 'The child agent has no conversation, or you may not see it.'}
    </p>
  )
}
