import type { UsedConversation } from 'perdure/react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { codeOf, errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { oneLine } from '../parts/shown-text.ts'

/** Until the first view has come. `isQuiet`: within a page that is there already. */
export function Skeleton({ isQuiet = false }: { isQuiet?: boolean }) {
  return (
    <div
      role="status"
      aria-label="Loading"
      className={`mx-auto flex w-full max-w-180 grow flex-col gap-6 p-4 ${isQuiet ? '' : 'pt-16'}`}
    >
      {[72, 48, 88].map((width) => (
        <div key={width} className="flex flex-col gap-2">
          <div className="h-3 w-20 rounded-xs bg-hover" />
          <div className="h-3 rounded-xs bg-hover" style={{ width: `${width}%` }} />
        </div>
      ))}
    </div>
  )
}

type AbsentProps = {
  readonly id: string
  readonly status: UsedConversation['status']
  readonly error: unknown
  reload(): void
}

/** Why there is nothing to show, and what to do. */
export function Absent({ id, status, error, reload }: AbsentProps) {
  if (codeOf(error) === 'not_a_conversation') {
    return (
      <Notice isPage title="This is a session of a flow.">
        <Link href={addresses.flows()} className="link">
          Go to the flows
        </Link>
      </Notice>
    )
  }
  if (status === 'gone') {
    return (
      <Notice isPage title="There is no such conversation, or you may not see it.">
        <p>
          <code>{oneLine(id, 120)}</code> may have been deleted, or belong to someone else.
        </p>
        <Link href={addresses.conversations()} className="link">
          All conversations
        </Link>
      </Notice>
    )
  }
  return (
    <Notice
      isPage
      title={status === 'refused' ? 'The server wants you to sign in again.' : 'The conversation cannot be shown.'}
    >
      <p>{errorWords(error)}</p>
      <Button onClick={reload}>Try again</Button>
    </Notice>
  )
}
