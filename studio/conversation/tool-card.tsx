import type { Json, ViewPart } from 'perdure/client'
import type { ReactNode } from 'react'
import { Clock } from '../parts/clock.tsx'
import { Diff } from '../parts/diff.tsx'
import { JsonView } from '../parts/json.tsx'
import { LongText } from '../parts/long-text.tsx'
import { byteSize, oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { ChildAgent } from './child-agent.tsx'
import { Fold } from './fold.tsx'
import { MoreInLog } from './more-in-log.tsx'
import type { Call } from './rows.ts'
import { useTranscript } from './transcript-context.ts'

export type ViewCall = Extract<ViewPart, { type: 'call' }>

/** A call: what it will do or did, who answered, and how it ended. Open while there is something to do or to worry about. */
export function ToolCard({ call }: { call: ViewCall }) {
  const { calls, pending, ofChildren, progress, actions } = useTranscript()
  const { callId, name, args, executor, phase, end, edited, description, restoredFrom, leftOut } = call
  const facts = calls.get(callId)
  const waiting = pending.find((item) => item.callId === callId)
  const told = progress[callId] as Json | undefined
  const isAsked = executor !== 'agent' || ofChildren.some(({ path }) => path[0]?.callId === callId)
  const isOpenAtFirst = (phase === 'waiting' && isAsked) || end?.ok === false
  return (
    <Fold
      name={name}
      // What it was described as is what the model asked for: not what ran.
      words={oneLine(edited ? argsLine(edited.after) : (description ?? argsLine(args)), 160)}
      status={<CallStatus call={call} facts={facts} />}
      isOpenAtFirst={isOpenAtFirst}
    >
      <Section title={edited ? 'Arguments, edited' : 'Arguments'}>
        {edited ? (
          <Diff before={edited.before} after={edited.after} label="Edited arguments" />
        ) : (
          <JsonView value={args} />
        )}
      </Section>
      {facts && <Rounds facts={facts} />}
      {waiting && actions?.answer(waiting)}
      {told !== undefined && (
        <Section title="Progress">
          <JsonView value={told} />
        </Section>
      )}
      {executor === 'agent' && phase !== 'queued' && <ChildAgent callId={callId} />}
      {end && (
        <Section title={end.ok ? 'Result' : 'Error'}>
          {end.ok ? (
            <JsonView value={end.result} />
          ) : (
            <LongText text={end.error} className={refusalOf(facts) ? 'text-soft' : 'text-failed'} />
          )}
          {end.outcome && <p className="text-soft">{outcomeWords[end.outcome]}</p>}
        </Section>
      )}
      {facts?.stateRefused !== undefined && (
        <Section title="State refused">
          <LongText text={facts.stateRefused} />
        </Section>
      )}
      {restoredFrom !== undefined && (
        <p className="text-faint">
          Restored from call <code>{oneLine(restoredFrom, 80)}</code>, which may still wait where the snapshot was
          taken.
        </p>
      )}
      {leftOut && <MoreInLog words={`${byteSize(leftOut.bytes)} are not shown.`} seq={leftOut.seqs[0] ?? 1} />}
    </Fold>
  )
}

const outcomeWords = {
  unknown: 'It was interrupted and may have taken effect.',
  ran: 'It ran, but its result could not be recorded.',
}

function CallStatus({ call: { phase, end }, facts }: { call: ViewCall; facts: Call | undefined }) {
  const again = facts && facts.attempts > 1 ? <span className="text-faint">attempt {facts.attempts}</span> : null
  const editor = facts?.rounds.findLast(({ resolution }) => resolution?.edited)?.resolution?.who
  return (
    <span className="flex shrink-0 items-center gap-2 text-xs">
      {editor !== undefined && (
        <span className="max-w-40 truncate text-faint">
          edited by <bdi>{oneLine(editor, 60)}</bdi>
        </span>
      )}
      {again}
      <Status status={phase === 'ended' ? (end?.ok ? 'ended' : (refusalOf(facts) ?? 'failed')) : phase} />
    </span>
  )
}

/** Why it never ran, where people or a deadline decided that: it has not failed. */
function refusalOf(facts: Call | undefined): 'denied' | 'expired' | 'cancelled' | null {
  const last = facts?.rounds.at(-1)
  if (!last?.resolution) return null
  const { status, value } = last.resolution
  if (status !== 'resolved') return status
  return last.kind === 'approval' && value === false ? 'denied' : null
}

const roundWords: Readonly<Record<string, string>> = {
  resolved: 'Answered',
  denied: 'Denied',
  expired: 'Expired',
  cancelled: 'Cancelled',
}

/** Who answered and when, one line for each time it was asked. */
function Rounds({ facts }: { facts: Call }) {
  const { select } = useTranscript()
  const asked = facts.rounds.filter(({ kind }) => kind !== 'sub_agent')
  if (asked.length === 0) return null
  return (
    <ul className="text-soft">
      {asked.map(({ round, kind, at, seq, resolution }) => {
        if (!resolution)
          return (
            <li key={round}>
              Asked <Clock at={at} />
            </li>
          )
        const isYes = kind === 'approval' && resolution.status === 'resolved'
        const did = isYes
          ? resolution.value === false
            ? 'Denied'
            : resolution.edited
              ? 'Approved with edits'
              : 'Approved'
          : roundWords[resolution.status]
        const reason = resolution.status === 'denied' ? resolution.value : null
        return (
          <li key={round}>
            <button
              type="button"
              className="text-left hover:text-text"
              title={`Asked at event ${seq}`}
              onClick={() => select(resolution.seq)}
            >
              {did}
              {resolution.status !== 'expired' && (
                <>
                  {' '}
                  by <bdi className="text-text">{oneLine(resolution.who, 80)}</bdi>
                </>
              )}{' '}
              <Clock at={resolution.at} />
              {typeof reason === 'string' && reason !== '' && <>: {oneLine(reason, 400)}</>}
            </button>
          </li>
        )
      })}
    </ul>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col">
      <h2 className="text-faint text-xs">{title}</h2>
      {children}
    </section>
  )
}

/** Arguments in one line, as in `orderId o-17, cents 5000`. */
function argsLine(args: Json): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args === null ? '' : cut(args)
  return Object.entries(args)
    .slice(0, 6)
    .map(([name, value]) => `${name.slice(0, 40)} ${cut(value)}`)
    .join(', ')
}

function cut(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
