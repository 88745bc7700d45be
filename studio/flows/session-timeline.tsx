import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronRight } from 'lucide-react'
import { type ReactNode, useMemo, useRef } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { JsonView } from '../parts/json.tsx'
import { LongText } from '../parts/long-text.tsx'
import { useScrollParent } from '../parts/scroll-parent.ts'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { duration, useNow } from '../parts/time.tsx'
import { isInstant, isWait, type SessionStory, type Step } from './session-steps.ts'
import { looks, stepLength, stepStatus, stepWords } from './step-words.ts'
import { type TimeScale, timeScale } from './time-scale.ts'

export type SessionTimelineProps = {
  readonly story: SessionStory
  /** The step whose details are shown, by the seq of its event. */
  readonly selected: number | null
  readonly onSelect: (seq: number | null) => void
}

/** The steps of a session in the order they were asked for, each with its bar on a common scale. */
export function SessionTimeline({ story, selected, onSelect }: SessionTimelineProps) {
  const { steps } = story
  const isOpen = story.ended === null
  const end = useEnd(story, isOpen)
  const scale = useMemo(
    () =>
      timeScale(
        steps.map((step) => ({
          from: step.startedAt,
          to: step.endedAt ?? end,
          isWait: isWait(step),
        })),
      ),
    [steps, end],
  )
  const list = useRef<HTMLOListElement>(null)
  const scrolled = useScrollParent(list)
  const virtual = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scrolled?.parent ?? null,
    scrollMargin: scrolled?.above ?? 0,
    estimateSize: () => 32,
    getItemKey: (index) => steps[index]!.seq,
    overscan: 12,
  })
  return (
    <ol ref={list} aria-label="Steps" className="relative" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const step = steps[index]!
        return (
          <li
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            className="absolute inset-x-0 border-b"
            style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
          >
            <StepRow
              step={step}
              end={end}
              scale={scale}
              isSelected={selected === step.seq}
              onSelect={() => onSelect(selected === step.seq ? null : step.seq)}
            />
          </li>
        )
      })}
    </ol>
  )
}

/** Now while something is open; the scale moves once a second and no more often. */
function useEnd({ steps, ended }: SessionStory, isOpen: boolean): number {
  const now = useNow()
  const last = steps.reduce((latest, step) => Math.max(latest, step.endedAt ?? step.startedAt), 0)
  return isOpen && steps.some(({ endedAt }) => endedAt === null) ? Math.max(now, last) : (ended?.at ?? last)
}

function StepRow({
  step,
  end,
  scale,
  isSelected,
  onSelect,
}: {
  step: Step
  end: number
  scale: TimeScale
  isSelected: boolean
  onSelect: () => void
}) {
  const { Icon } = looks[step.op.kind]
  return (
    <div className={isSelected ? 'bg-selected' : ''}>
      <button
        type="button"
        aria-expanded={isSelected}
        className={`grid min-h-[31px] w-full grid-cols-[16px_16px_minmax(0,1fr)_auto] items-center gap-x-2 px-4 text-left max-md:min-h-11 max-md:py-1 md:grid-cols-[16px_16px_minmax(120px,300px)_minmax(0,1fr)_72px_80px] ${isSelected ? '' : 'hover:bg-hover'}`}
        onClick={onSelect}
      >
        <ChevronRight className={`size-3.5 text-faint ${isSelected ? 'rotate-90' : ''}`} aria-hidden />
        <Icon className="size-4 text-soft" aria-hidden />
        <span className="truncate" title={stepWords(step.op)}>
          {stepWords(step.op)}
        </span>
        <Bar step={step} end={end} scale={scale} />
        <span className="text-right text-faint max-md:hidden">
          {isInstant(step) ? '' : stepLength((step.endedAt ?? end) - step.startedAt)}
        </span>
        <Status status={stepStatus(step)} />
      </button>
      {isSelected && <StepDetails step={step} />}
    </div>
  )
}

function Bar({ step, end, scale }: { step: Step; end: number; scale: TimeScale }) {
  const from = scale.place(step.startedAt)
  const to = scale.place(step.endedAt ?? end)
  return (
    <span
      className="relative h-full min-h-6 max-md:order-last max-md:col-span-2 max-md:col-start-3 max-md:min-h-2"
      aria-hidden
    >
      {scale.folds.map((fold) => (
        <span
          key={fold.from}
          className="fold absolute inset-y-0"
          title={`${duration(fold.to - fold.from)} of waiting, drawn shorter`}
          style={{ left: `${fold.start * 100}%`, width: `${(fold.end - fold.start) * 100}%` }}
        />
      ))}
      <span
        className={`absolute top-1/2 h-2 min-w-[3px] -translate-y-1/2 rounded-full ${barOf(step)}`}
        style={{ left: `min(${from * 100}%, 100% - 3px)`, width: `${Math.max(0, to - from) * 100}%` }}
      />
    </span>
  )
}

/** What has ended has no colour, unless it failed. */
function barOf(step: Step): string {
  if (step.outcome?.ok === false) return 'bg-failed'
  if (step.endedAt === null) return looks[step.op.kind].going
  return isWait(step) ? 'bg-faint/40' : 'bg-soft'
}

function StepDetails({ step }: { step: Step }) {
  const { op, outcome } = step
  return (
    <dl className="grid grid-cols-[72px_minmax(0,1fr)] gap-x-3 gap-y-2 border-t px-4 py-3 pl-12 max-md:pl-4">
      {op.kind === 'suspend' && (
        <Detail name="Asked">
          <JsonView value={op.tag} />
        </Detail>
      )}
      {op.kind === 'request' && (
        <Detail name="Payload">
          <JsonView value={op.payload} />
        </Detail>
      )}
      {op.kind === 'step' && (
        <Detail name="Input">
          <JsonView value={op.input} />
        </Detail>
      )}
      {op.kind === 'agent' && (
        <Detail name="Message">
          <JsonView value={op.message} />
          {op.id !== null && (
            <Link href={addresses.conversation(op.id)} className="link">
              Open conversation
            </Link>
          )}
        </Detail>
      )}
      {outcome && (
        <Detail name={outcome.ok ? (isWait(step) && op.kind !== 'sleep' ? 'Answer' : 'Value') : 'Error'}>
          {outcome.ok ? <JsonView value={outcome.value} /> : <LongText text={outcome.error} className="text-failed" />}
        </Detail>
      )}
      {outcome?.who !== undefined && <Detail name="By">{oneLine(outcome.who, 80)}</Detail>}
      {step.isAbandoned && <Detail name="Outcome">The session continued without it.</Detail>}
      {!outcome && !step.isAbandoned && op.kind === 'step' && <Detail name="Outcome">None yet.</Detail>}
    </dl>
  )
}

export function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-faint">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}
