import { History, Lock, OctagonAlert, Pause } from 'lucide-react'
import type { RemoteRecord, View } from 'perdure/client'
import { useClient } from 'perdure/react'
import type { ComponentType, ReactNode } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { usePlace } from '../inspector/place.ts'
import type { Moment } from '../inspector/use-moment.ts'
import { AskingButton } from '../parts/asking-button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { oneLine } from '../parts/shown-text.ts'
import { AgoWords } from '../parts/time.tsx'
import { PausedLine } from './paused-line.tsx'

/** Why nothing can be sent to a conversation; null when something can. */
export function refusalOf(id: string, { unknownEvent }: View, record: RemoteRecord | null): string | null {
  if (record?.parent?.callId !== undefined) return 'Read-only: only its parent sends messages to a child agent.'
  if (unknownEvent) return `Read-only: this version does not know event ${unknownEvent.seq}.`
  if (record?.problem?.code === 'conversation_unreadable') return `Read-only: ${id} is damaged. Run perdure doctor.`
  return null
}

type BannerProps = {
  readonly view: View
  readonly record: RemoteRecord | null
  readonly moment: Moment
  /** Reads the record again. */
  readonly again: () => Promise<void>
}

/** What is special about the conversation as a whole, and what to do about it. */
export function Banner({ view, record, moment, again }: BannerProps) {
  const { go } = usePlace()
  const paused = record ? record.paused : view.paused
  const parent = record?.parent
  return (
    <>
      {moment.at !== null && (
        <Line Icon={History} colour="bg-selected text-text">
          {moment.error ? (
            <span role="alert">{errorWords(moment.error)}</span>
          ) : (
            <span>
              As it was after event {moment.at.toLocaleString()} of {view.seq.toLocaleString()}. Nothing here is
              executed.
            </span>
          )}
          <button type="button" className="link shrink-0 max-md:min-h-11" onClick={() => go({ at: null })}>
            Back to now
          </button>
        </Line>
      )}
      {record?.quarantinedAt !== undefined && (
        <Line Icon={OctagonAlert} colour="bg-failed-soft text-failed">
          <QuarantinedLine record={record} at={record.quarantinedAt} again={again} />
        </Line>
      )}
      {paused && (
        <Line Icon={Pause} colour="bg-waiting-soft text-waiting">
          <PausedLine record={record} at={paused.at} again={again} />
        </Line>
      )}
      {view.problem && (
        <Line Icon={Pause} colour="bg-waiting-soft text-waiting">
          <span>
            Paused <AgoWords at={view.problem.at} />: {oneLine(view.problem.message, 400)}
          </span>
        </Line>
      )}
      {record?.problem && record.quarantinedAt === undefined && !view.problem && (
        <Line Icon={OctagonAlert} colour="bg-failed-soft text-failed">
          <span>
            The server cannot work on it: <code>{record.problem.code}</code>
          </span>
        </Line>
      )}
      {parent && (
        <Line Icon={Lock} colour="text-soft">
          <span>
            {parent.callId === undefined ? 'Forked from ' : 'Child agent of '}
            <Link
              href={addresses.conversation(parent.id, parent.at === undefined ? {} : { event: parent.at })}
              className="link"
            >
              {oneLine(parent.id, 80)}
            </Link>
            {parent.at !== undefined && ` at event ${parent.at.toLocaleString()}`}
          </span>
        </Line>
      )}
    </>
  )
}

/** Operators, who are told its tenant, release it here. */
function QuarantinedLine({ record, at, again }: { record: RemoteRecord; at: number; again: () => Promise<void> }) {
  const client = useClient()
  const { id, tenant } = record
  return (
    <>
      <span>
        Quarantined <AgoWords at={at} />: the processes that worked on it died. Messages queue until{' '}
        {tenant === undefined ? 'an operator releases it.' : 'it is released, here or with '}
        {tenant !== undefined && (
          <>
            <code>perdure unquarantine {oneLine(id, 80)}</code>.
          </>
        )}
      </span>
      {tenant !== undefined && (
        <AskingButton
          words="Release"
          label="Release from quarantine"
          kind="quiet"
          className="shrink-0"
          title="Let processes work on it again?"
          act={() => client.unquarantine({ id, tenant })}
          again={again}
        >
          It ended the last five processes that worked on it. Mend the cause first, or it ends five more.
        </AskingButton>
      )}
    </>
  )
}

function Line({
  Icon,
  colour,
  children,
}: {
  Icon: ComponentType<{ className?: string }>
  colour: string
  children: ReactNode
}) {
  return (
    <div className={`flex min-h-8 shrink-0 items-center gap-2 border-b px-4 py-0.5 ${colour}`}>
      <Icon className="size-3.5 shrink-0" />
      <div className="flex min-w-0 grow items-center justify-between gap-2">{children}</div>
    </div>
  )
}
