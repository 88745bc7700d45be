import type { RemoteSendOptions, View } from 'perdure/client'
import { type UsedConversation, useConversation } from 'perdure/react'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { Inspector } from '../inspector/inspector.tsx'
import { TimeSlider } from '../inspector/time-slider.tsx'
import { type Moment, useMoment } from '../inspector/use-moment.ts'
import { usePastMessages } from '../inspector/use-past-messages.ts'
import { useReadOnly } from '../parts/read-only.ts'
import { oneLine } from '../parts/shown-text.ts'
import { useTitle } from '../shell/title.ts'
import { AnswerHere } from './answer-here.tsx'
import { Banner, refusalOf } from './banner.tsx'
import { Composer, type Edited } from './composer.tsx'
import { ForkDialog } from './fork-dialog.tsx'
import { Header } from './header.tsx'
import { InspectorPane, useInspectorPane } from './inspector-pane.tsx'
import { Absent, Skeleton } from './page-states.tsx'
import { RetryDialog } from './retry-dialog.tsx'
import { Sending } from './sending.tsx'
import { Transcript } from './transcript.tsx'
import type { TranscriptActions } from './transcript-context.ts'
import { useRecord } from './use-record.ts'

/** A conversation: what was said and done, and beside it what happened, to scale. */
export function ConversationPage({ id }: { id: string }) {
  // Another conversation has nothing in common with this one: no text, no scroll position, no dialog.
  return <ConversationOf key={id} id={id} />
}

function ConversationOf({ id }: { id: string }) {
  const conversation = useConversation(id, { drafts: 'apart' })
  const { view, status, error } = conversation
  const moment = useMoment(id, view?.seq)
  if (!view)
    return status === 'loading' ? (
      <Skeleton />
    ) : (
      <Absent id={id} status={status} error={error} reload={conversation.reload} />
    )
  if (status === 'gone') return <Absent id={id} status={status} error={error} reload={conversation.reload} />
  return <Opened conversation={conversation} now={view} moment={moment} />
}

/** A pause is no event: it shows with the next read of the record. */
const recordEveryMs = 15_000

type OpenedProps = { readonly conversation: UsedConversation; readonly now: View; readonly moment: Moment }

function Opened({ conversation, now, moment }: OpenedProps) {
  const { id } = conversation
  useTitle(oneLine(now.title ?? id, 60))
  const isPast = moment.at !== null
  const isFile = useReadOnly()
  const { record, again } = useRecord(id, `${now.phase} ${now.title}`, isFile ? null : recordEveryMs)
  const refusal = isFile ? 'This is a file. Nothing can be sent.' : refusalOf(id, now, record)
  const pane = useInspectorPane()
  const [edited, setEdited] = useState<Edited | null>(null)
  const [dialog, setDialog] = useState<{ readonly fork: number } | { readonly retry: string } | null>(null)
  const [lost, setLost] = useState<ReactNode>(null)
  const isIdle = now.phase !== 'running' && now.phase !== 'waiting'
  const canSay = isIdle && refusal === null
  const actions = useMemo<TranscriptActions | null>(() => {
    if (isFile) return null
    return {
      edit: canSay ? (turnId, text) => setEdited({ turnId, text }) : null,
      retry: canSay ? (retry) => setDialog({ retry }) : null,
      fork: (fork) => setDialog({ fork }),
      answer: (item) => <AnswerHere item={item} onLost={setLost} />,
    }
  }, [isFile, canSay])
  const past = useMemo<TranscriptActions | null>(
    () => actions && { ...actions, edit: null, retry: null, answer: () => null },
    [actions],
  )
  const { send } = conversation
  const [saidCount, setSaidCount] = useState(0)
  const sendText = useCallback(
    async (text: string, options: RemoteSendOptions) => {
      await send(text, options)
      setSaidCount((count) => count + 1)
    },
    [send],
  )
  const shown = isPast ? moment.view : now
  const pastMessages = usePastMessages(id, moment.view)
  return (
    <div className="flex h-full min-w-0">
      <section aria-label="Conversation" className="flex h-full min-w-0 grow flex-col">
        <Header
          conversation={conversation}
          view={now}
          phase={shown?.phase ?? null}
          record={record}
          again={again}
          isReadOnly={isFile || isPast}
          hasInspector={pane.isShown}
          onInspector={pane.toggle}
        />
        <Banner view={now} record={record} moment={moment} again={again} />
        {shown ? (
          <Transcript
            key={isPast ? 'past' : 'now'}
            view={shown}
            {...(record?.agent && { agent: record.agent })}
            isLive={!isPast}
            actions={isPast ? past : actions}
            {...(isPast
              ? pastMessages
              : {
                  saidCount,
                  messages: conversation.messages,
                  loadOlder: conversation.hasOlder ? conversation.loadOlder : null,
                })}
          />
        ) : (
          <Skeleton isQuiet />
        )}
        {!isPast && (
          <>
            <p role="status" className="mx-auto w-full max-w-187 px-4 pb-1 text-waiting empty:hidden">
              {lost}
            </p>
            <Sending sending={conversation.sending} />
            <Composer id={id} isBusy={!isIdle} refusal={refusal} edited={edited} onEdited={setEdited} send={sendText} />
          </>
        )}
        <TimeSlider id={id} last={now.seq} />
      </section>
      <InspectorPane pane={pane}>
        <Inspector id={id} />
      </InspectorPane>
      {dialog && 'fork' in dialog && (
        <ForkDialog conversation={conversation} at={dialog.fork} onClose={() => setDialog(null)} />
      )}
      {dialog && 'retry' in dialog && (
        <RetryDialog conversation={conversation} turnId={dialog.retry} onClose={() => setDialog(null)} />
      )}
    </div>
  )
}
