import { ArrowLeft, GitFork } from 'lucide-react'
import type { Json } from 'perdure/client'
import { useSession } from 'perdure/react'
import { useMemo, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { codeOf, errorWords } from '../parts/error-words.ts'
import { Id } from '../parts/id.tsx'
import { JsonView } from '../parts/json.tsx'
import { LongText } from '../parts/long-text.tsx'
import { Notice } from '../parts/notice.tsx'
import { useReadOnly } from '../parts/read-only.ts'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { AgoWords, Until } from '../parts/time.tsx'
import { useTitle } from '../shell/title.ts'
import { ForkSession } from './fork-session.tsx'
import { ResumeForm } from './resume-form.tsx'
import { SessionEvents } from './session-events.tsx'
import { type Step, sessionStory } from './session-steps.ts'
import { Detail, SessionTimeline } from './session-timeline.tsx'

/** One session: what it waits for, its steps on a timeline, and its log. `?event=` is the selected event. */
export function SessionPage({ flow, id }: { flow: string; id: string }) {
  const used = useSession(flow, id)
  const isFile = useReadOnly()
  const { session, events, status, error } = used
  const story = useMemo(() => sessionStory(events), [events])
  const [search, setSearch] = useSearchParams()
  const [, navigate] = useLocation()
  const [forkAt, setForkAt] = useState<number | null>(null)
  /** The question that was answered before the answer of this page came. */
  const [late, setLate] = useState<number | null>(null)
  useTitle(oneLine(id, 60))
  if (status === 'gone') return <NoSession flow={flow} id={id} />
  if (!session && (status === 'refused' || status === 'failed'))
    return (
      <Notice isPage title="This session cannot be read.">
        <p>{errorWords(error)}</p>
        <Button onClick={used.reload}>Try again</Button>
      </Notice>
    )
  if (!session)
    return (
      <p role="status" className="p-4 text-faint">
        Loading…
      </p>
    )
  const given = Number(search.get('event'))
  const selected = Number.isSafeInteger(given) && given > 0 ? given : null
  const select = (seq: number | null): void => setSearch(seq === null ? {} : { event: String(seq) }, { replace: true })
  const lastSeq = events.at(-1)?.seq ?? 0
  const answer = async (seq: number, value: Json): Promise<void> => {
    setLate(null)
    try {
      await used.resume(value, { seq })
    } catch (error) {
      if (codeOf(error) !== 'not_suspended') throw error
      // Its form goes: what came of it is said where it was.
      setLate(seq)
    }
  }
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1.5">
        <div className="flex min-w-0 items-center gap-x-3">
          <Link
            href={addresses.flows()}
            aria-label="All sessions"
            className="-ml-1 grid size-8 shrink-0 place-items-center rounded-(--radius) text-soft hover:bg-hover max-md:size-11"
          >
            <ArrowLeft className="size-4" aria-hidden />
          </Link>
          <h1 className="min-w-0 truncate text-base font-medium" title={oneLine(flow, 200)}>
            {oneLine(flow, 80)}
          </h1>
        </div>
        <Id id={id} />
        <Status status={session.status} />
        {session.wakeAt !== null && (
          <span className="text-soft">
            wakes <Until at={session.wakeAt} />
          </span>
        )}
        <span className="grow" />
        {session.status === 'dormant' && !isFile && <Continue onContinue={used.continue} />}
        {!isFile && (
          <Button onClick={() => setForkAt(selected ?? lastSeq)} disabled={lastSeq === 0}>
            <GitFork className="size-4" aria-hidden />
            Fork
          </Button>
        )}
      </header>
      <div className="flex min-h-0 grow max-lg:flex-col max-lg:overflow-y-auto">
        <div className="min-w-0 grow lg:overflow-y-auto">
          {late !== null && <CameFirst step={story.steps.find(({ seq }) => seq === late)} />}
          {(isFile ? [] : session.suspensions).map((question) => (
            <ResumeForm key={question.seq} question={question} onAnswer={(value) => answer(question.seq, value)} />
          ))}
          <dl className="grid grid-cols-[88px_minmax(0,1fr)] gap-x-3 gap-y-1 border-b px-4 py-3">
            {story.startedAt !== null && (
              <Detail name="Started">
                <AgoWords at={story.startedAt} /> by {oneLine(story.who ?? '', 80)}, version{' '}
                {oneLine(story.version ?? '', 20)}
              </Detail>
            )}
            <Detail name="Input">
              <JsonView value={story.input} />
            </Detail>
            {story.ended?.status === 'done' && (
              <Detail name="Result">
                <JsonView value={story.ended.result} />
              </Detail>
            )}
            {story.ended?.status === 'failed' && (
              <Detail name="Error">
                <LongText text={story.ended.error} className="text-failed" />
              </Detail>
            )}
          </dl>
          <h2 className="flex h-8 items-center border-b px-4 text-xs text-faint">Steps</h2>
          {story.steps.length > 0 ? (
            <SessionTimeline story={story} selected={selected} onSelect={select} />
          ) : (
            <p className="px-4 py-3 text-soft">The code has asked for nothing yet.</p>
          )}
        </div>
        <section
          aria-label="Log"
          className="flex shrink-0 flex-col border-l max-lg:-mt-px max-lg:h-[60dvh] max-lg:border-t max-lg:border-l-0 lg:w-105"
        >
          <h2 className="flex h-8 shrink-0 items-center border-b px-3 text-xs text-faint max-lg:px-4">
            {events.length.toLocaleString()} events
          </h2>
          <div className="min-h-0 grow">
            <SessionEvents events={events} selected={selected} onSelect={select} onFork={isFile ? null : setForkAt} />
          </div>
        </section>
      </div>
      {forkAt !== null && (
        <ForkSession
          id={id}
          at={forkAt}
          lastSeq={lastSeq}
          onFork={async (newId, at) => {
            const fork = await used.fork(newId, { at })
            navigate(addresses.session(flow, fork.id))
          }}
          onClose={() => setForkAt(null)}
        />
      )}
    </div>
  )
}

function NoSession({ flow, id }: { flow: string; id: string }) {
  return (
    <Notice isPage title="There is no such session.">
      <p>
        The flow {oneLine(flow, 80)} has no session {oneLine(id, 120)} that you may see. It may have been deleted.
      </p>
      <Link href={addresses.flows()} className="link">
        All sessions
      </Link>
    </Notice>
  )
}

/** Who answered before this page did. `step` is not known until its end has been read. */
function CameFirst({ step }: { step: Step | undefined }) {
  return (
    <p role="status" className="border-b bg-waiting-soft px-4 py-2">
      Not sent: another answer came first
      {step?.outcome && step.endedAt !== null && (
        <>
          , by <bdi>{oneLine(step.outcome.who ?? 'someone else', 80)}</bdi> <AgoWords at={step.endedAt} />
        </>
      )}
      .
    </p>
  )
}

/** A fork does nothing until it is continued. */
function Continue({ onContinue }: { onContinue: () => Promise<unknown> }) {
  const [state, setState] = useState<{ readonly isSending: boolean; readonly error: string }>({
    isSending: false,
    error: '',
  })
  return (
    <>
      <span role="alert" className="text-failed empty:hidden">
        {state.error}
      </span>
      <Button
        kind="main"
        disabled={state.isSending}
        onClick={() => {
          setState({ isSending: true, error: '' })
          onContinue().then(
            () => setState({ isSending: false, error: '' }),
            (error: unknown) => setState({ isSending: false, error: errorWords(error) }),
          )
        }}
      >
        {state.isSending ? 'Sending…' : 'Continue'}
      </Button>
    </>
  )
}
