import { useMemo } from 'react'
import { usePlace } from '../inspector/place.ts'
import { Lines } from './lines.tsx'
import { callsOf, rowsOf } from './rows.ts'
import { TranscriptContext, type TranscriptProps, type TranscriptWorld } from './transcript-context.ts'
import { VirtualLines } from './virtual-lines.tsx'

/** What was said and done, as a person reads it: of any view, live, of a past moment, or of a file. */
export function Transcript(props: TranscriptProps) {
  const {
    view,
    agent = 'agent',
    messages = view.messages,
    isLive = false,
    actions = null,
    loadOlder = null,
    saidCount = 0,
    depth = 0,
  } = props
  const { event, go } = usePlace()
  const rows = useMemo(() => rowsOf(view, messages), [view, messages])
  const calls = useMemo(() => callsOf(view), [view])
  const world = useMemo<TranscriptWorld>(
    () => ({
      conversationId: view.conversationId,
      agent,
      ofChildren: view.children.pending,
      calls,
      pending: view.pending,
      progress: view.progress,
      event,
      actions,
      isLive,
      depth,
      Nested: Transcript,
      select: (seq) => go({ event: seq }, { replace: true }),
    }),
    [
      view.conversationId,
      agent,
      view.children.pending,
      view.pending,
      view.progress,
      calls,
      event,
      actions,
      isLive,
      depth,
      go,
    ],
  )
  return (
    <TranscriptContext value={world}>
      {depth === 0 ? (
        <VirtualLines view={view} rows={rows} loadOlder={loadOlder} saidCount={saidCount} />
      ) : (
        <Lines rows={rows} />
      )}
    </TranscriptContext>
  )
}
