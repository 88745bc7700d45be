import { GitFork, History, Link2, X } from 'lucide-react'
import type { LogEvent } from 'perdure/client'
import { useState } from 'react'
import { useRouter } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import { useReadOnly } from '../parts/read-only.ts'
import { oneLine } from '../parts/shown-text.ts'
import { whoOf } from './describe-event.ts'
import { JsonTree } from './json-tree.tsx'
import { LaterPrompts } from './later-prompts.tsx'
import { usePlace } from './place.ts'
import { useFork } from './use-fork.ts'

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** The selected event itself: what it says, and what can be done from there. */
export function EventDetail({ id, event }: { id: string; event: LogEvent }) {
  const { go } = usePlace()
  const isFile = useReadOnly()
  const { base } = useRouter()
  const fork = useFork(id)
  const [isAsking, setAsking] = useState(false)
  const { seq, type, at, content } = event
  const who = whoOf(event)
  const isMessage = type === 'user_msg' || type === 'assistant_msg' || type === 'tool_result'
  return (
    <section aria-label={`Event ${seq}`} className="flex max-h-[55%] min-h-40 shrink-0 flex-col border-t bg-page">
      <header className="flex shrink-0 flex-wrap items-center gap-x-2 px-3 pt-2">
        <span className="font-medium">
          {seq.toLocaleString()} {oneLine(type, 60)}
        </span>
        {who !== null && <span className="text-soft">by {oneLine(who, 80)}</span>}
        <time dateTime={new Date(at).toISOString()} className="text-faint text-xs">
          {exact.format(at)}
        </time>
        <span className="grow" />
        <CopyButton text={linkTo(base, id, seq)} words="Copy a link to this event" />
        <IconButton words="Close the event" Icon={X} onClick={() => go({ event: null }, { replace: true })} />
      </header>
      <div className="flex shrink-0 flex-wrap gap-1 px-2 py-1">
        <Button kind="quiet" className="px-2" onClick={() => go({ at: seq })}>
          <History className="size-3.5" aria-hidden />
          Go back here
        </Button>
        {!isFile && (
          <Button kind="quiet" className="px-2" disabled={fork.isSending} onClick={() => fork.at(seq)}>
            <GitFork className="size-3.5" aria-hidden />
            {fork.isSending ? 'Forking…' : 'Fork from here'}
          </Button>
        )}
        {isMessage && (
          <Button kind="quiet" className="px-2" aria-expanded={isAsking} onClick={() => setAsking(!isAsking)}>
            <Link2 className="size-3.5" aria-hidden />
            Later prompts
          </Button>
        )}
      </div>
      {fork.error !== null && (
        <p role="alert" className="px-3 text-failed">
          {fork.error}
        </p>
      )}
      {/* A region that scrolls must be reachable by keyboard. */}
      <div {...reachable} className="min-h-0 grow overflow-auto px-3 pb-3 font-mono text-xs">
        {isAsking && <LaterPrompts id={id} seq={seq} />}
        <JsonTree key={seq} value={content as never} depth={4} />
      </div>
    </section>
  )
}

const reachable = { tabIndex: 0, role: 'group', 'aria-label': 'Content of the event' }

/** `base`: where the pages are, of a server or of a file. */
function linkTo(base: string, id: string, event: number): string {
  return `${location.origin}${base}${addresses.conversation(id, { tab: 'log', event })}`
}
