import type { ModelCallSummary } from 'perdure/client'
import { useModelCalls } from 'perdure/react'
import { useEffect, useRef } from 'react'
import { useSearchParams } from 'wouter'
import { Button } from '../parts/button.tsx'
import { codeOf, errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { callsBefore, modelOf, usageOf } from './attempts.ts'
import { CallDetail } from './call-detail.tsx'
import type { PanelProps } from './inspector.tsx'
import { usePlace } from './place.ts'
import { length } from './time-scale.ts'

/** The model calls up to the moment that is shown, and what the selected one was given. */
export function CallsTab({ id, log, end }: PanelProps) {
  const { calls, status, error, reload } = useModelCalls(id)
  const [search] = useSearchParams()
  const { go } = usePlace()
  if (error && calls.length === 0) {
    const isRefused = status === 'refused' || codeOf(error) === 'forbidden' || codeOf(error) === 'not_found'
    return (
      <Notice title={isRefused ? 'You may not read prompts here.' : 'The model calls cannot be read.'}>
        <p>
          {isRefused ? (
            <>
              Serve with <code>showPrompts</code>, or sign in as an operator.
            </>
          ) : (
            errorWords(error)
          )}
        </p>
        {!isRefused && <Button onClick={() => void reload()}>Try again</Button>}
      </Notice>
    )
  }
  if (status === 'loading') return <p className="p-3 text-faint">Reading the model calls…</p>
  const groups = grouped(callsBefore(calls, end))
  if (groups.length === 0) {
    return (
      <Notice title={calls.length === 0 ? 'No model call is recorded.' : 'No model was called before this moment.'}>
        {calls.length === 0 && (
          <p>
            An agent with <code>audit: 'records'</code> keeps what each call cost, one with <code>audit: 'full'</code>{' '}
            also its prompt.
          </p>
        )}
      </Notice>
    )
  }
  const asked = search.get('call')
  const selected =
    groups.find(({ turnRef }) => turnRef === asked) ?? groups.findLast(({ aside }) => aside === null) ?? groups.at(-1)!
  const before = groups.slice(0, groups.indexOf(selected)).findLast(({ aside }) => aside === selected.aside)
  return (
    <div className="flex h-full min-h-0 flex-col">
      {/* Eight rows, or four on a phone: none is cut in half. */}
      <ol
        aria-label="Model calls"
        className="max-h-64 shrink-0 snap-y snap-mandatory overflow-y-auto border-b *:snap-start max-md:max-h-44"
      >
        {groups.map((group) => (
          <li key={group.turnRef}>
            <CallRow
              group={group}
              isSelected={group === selected}
              onSelect={() => go({ call: group.turnRef }, { replace: true })}
            />
          </li>
        ))}
      </ol>
      <CallDetail key={selected.turnRef} id={id} log={log} call={selected} before={before?.turnRef ?? null} />
    </div>
  )
}

/** The attempts at one model call. */
export type CallGroup = {
  readonly turnRef: string
  /** `summary` or `title` for those that are not part of a turn. */
  readonly aside: string | null
  readonly place: string
  readonly attempts: readonly ModelCallSummary[]
}

function grouped(calls: readonly ModelCallSummary[]): CallGroup[] {
  const byRef = new Map<string, ModelCallSummary[]>()
  for (const call of calls) byRef.set(call.turnRef, [...(byRef.get(call.turnRef) ?? []), call])
  const turns = new Map<string, number>()
  const groups = [...byRef].map(([turnRef, attempts]) => {
    const aside = /^(summary|title)\//.exec(turnRef)?.[1] ?? null
    const [turnId = '', step = ''] = turnRef.split('/')
    if (aside === null && !turns.has(turnId)) turns.set(turnId, turns.size + 1)
    const place = aside ?? `turn ${turns.get(turnId)}, call ${Number(step) + 1}`
    return { turnRef, aside, place, attempts }
  })
  return groups.sort((one, other) => one.attempts[0]!.at - other.attempts[0]!.at)
}

function CallRow({ group, isSelected, onSelect }: { group: CallGroup; isSelected: boolean; onSelect(): void }) {
  const last = group.attempts.at(-1)!
  const row = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isSelected])
  const { modelId } = modelOf(last)
  const { inputTokens, outputTokens } = usageOf(last)
  return (
    <button
      ref={row}
      type="button"
      aria-pressed={isSelected}
      className={`flex min-h-8 w-full items-center gap-2 px-3 text-left text-xs max-md:min-h-11 ${isSelected ? 'bg-selected' : 'hover:bg-hover'}`}
      onClick={onSelect}
    >
      <span className="w-28 shrink-0 truncate">{group.place}</span>
      <span className="min-w-0 grow truncate text-soft">{oneLine(modelId ?? 'unknown model', 60)}</span>
      {last.status !== 'ok' && <span className="text-failed">{last.status}</span>}
      {group.attempts.length > 1 && <span className="text-soft">{group.attempts.length} attempts</span>}
      <span className="shrink-0 text-right text-faint">
        {inputTokens?.toLocaleString() ?? '–'} in, {outputTokens?.toLocaleString() ?? '–'} out
      </span>
      <span className="w-12 shrink-0 text-right text-faint">{length(last.latencyMs ?? 0)}</span>
    </button>
  )
}
