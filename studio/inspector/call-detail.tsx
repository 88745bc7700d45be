import type { RemoteModelCall } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { each } from '../parts/scroller.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { modelOf, usageOf } from './attempts.ts'
import { BudgetBar } from './budget-bar.tsx'
import type { CallGroup } from './calls-tab.tsx'
import type { EventLog } from './event-log.ts'
import { JsonTree } from './json-tree.tsx'
import { promptDiff, promptMessages } from './prompt-diff.ts'
import { PromptView } from './prompt-view.tsx'
import { Facts } from './state-tab.tsx'
import { length } from './time-scale.ts'
import { tokenBudget } from './token-budget.ts'
import { useLoaded } from './use-loaded.ts'

type CallDetailProps = {
  readonly id: string
  readonly log: EventLog
  readonly call: CallGroup
  /** The call before it, to compare with. */
  readonly before: string | null
}

/** Exactly what one model call was given, against the call before. */
export function CallDetail({ id, log, call, before }: CallDetailProps) {
  const client = useClient()
  const handle = client.conversation(id)
  const { turnRef } = call
  const loaded = useLoaded(`${id} ${turnRef} ${call.attempts.length} ${before}`, async () => {
    const [attempts, earlier, explanations] = await Promise.all([
      handle.modelCall(turnRef),
      before === null ? null : handle.modelCall(before),
      call.aside === null ? handle.explain(turnRef) : [],
    ])
    const last = explanations.at(-1)
    if (last) await log.load(Math.max(1, last.seq - mostExplained), last.seq)
    return { attempts, earlier, explanations }
  })
  const [isDiff, setDiff] = useState(true)
  if (loaded.error) {
    return (
      <div className="flex flex-col items-start gap-2 p-3">
        <p role="alert" className="text-failed">
          {errorWords(loaded.error)}
        </p>
        <Button onClick={loaded.reload}>Try again</Button>
      </div>
    )
  }
  if (!loaded.value) return <p className="p-3 text-faint">Reading the prompt…</p>
  const { attempts, earlier, explanations } = loaded.value
  const last = attempts.at(-1)!
  const prompt = promptMessages(last.renderedContext)
  const was = earlier && promptMessages(earlier.at(-1)?.renderedContext ?? null)
  const diff = prompt && was ? promptDiff(was, prompt) : null
  const { brokenBy, shaped } = readEvictions(last)
  const { inputTokens } = usageOf(last)
  const budget = tokenBudget(prompt, explanations, (seq) => log.event(seq), inputTokens)
  return (
    <div className="min-h-0 grow overflow-y-auto p-3">
      <BudgetBar budget={budget} />
      <div className="py-3">
        <Facts facts={factsOf(last)} />
      </div>
      {attempts.length > 1 && (
        <ol className="border-t py-2 text-xs">
          {attempts.map((attempt) => (
            <li key={modelOf(attempt).attempt} className="flex gap-2">
              <span className="text-faint">attempt {modelOf(attempt).attempt}</span>
              <span className={attempt.status === 'ok' ? '' : 'text-failed'}>{attempt.status}</span>
              <span className="min-w-0 truncate text-soft">{oneLine(modelOf(attempt).error ?? '', 200)}</span>
              <span className="ml-auto text-faint">{length(attempt.latencyMs ?? 0)}</span>
            </li>
          ))}
        </ol>
      )}
      {shaped.length > 0 && (
        <div className="border-t py-2 font-mono text-xs">
          <p className="font-sans text-faint">Changed by hooks</p>
          {each(shaped, (change) => (
            <JsonTree name={change.hook} value={change as never} depth={1} />
          ))}
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2 border-t py-2">
        <h2 className="font-medium">Prompt</h2>
        {diff && (
          <span className="text-soft text-xs">
            {diff.added} added, {diff.changed} changed, {diff.removed} removed
          </span>
        )}
        <span className="grow" />
        {diff && (
          <Button kind="quiet" className="-mr-3" aria-pressed={isDiff} onClick={() => setDiff(!isDiff)}>
            {isDiff ? 'Show it whole' : 'Show what changed'}
          </Button>
        )}
      </div>
      {brokenBy !== null && (
        <p className="pb-2 text-soft text-xs">The provider&rsquo;s prompt cache broke: {oneLine(brokenBy, 200)}.</p>
      )}
      {prompt ? (
        <PromptView prompt={prompt} diff={isDiff ? diff : null} />
      ) : (
        <p className="text-soft">
          Not recorded. An agent with <code>audit: 'full'</code> keeps its prompts, and the server shows them with{' '}
          <code>showPrompts</code>.
        </p>
      )}
    </div>
  )
}

/** The bar of the budget counts the newest events of a long log. */
const mostExplained = 5_000

function factsOf(call: RemoteModelCall): (readonly [string, string | null])[] {
  const { provider, modelId, error, warnings } = modelOf(call)
  const usage = usageOf(call)
  const tokens = (count: number | null): string | null => count?.toLocaleString() ?? null
  return [
    ['Model', oneLine([provider, modelId].filter(Boolean).join(' / '), 120) || null],
    ['Input tokens', tokens(usage.inputTokens)],
    ['From the cache', tokens(usage.cacheReadTokens)],
    ['Written to it', tokens(usage.cacheWriteTokens)],
    ['Output tokens', tokens(usage.outputTokens)],
    ['Reasoning', tokens(usage.reasoningTokens)],
    ['First token', usage.timeToFirstTokenMs === null ? null : length(usage.timeToFirstTokenMs)],
    ['Took', call.latencyMs === null ? null : length(call.latencyMs)],
    ['Summary', call.summaryVersion === null ? null : `version ${call.summaryVersion}`],
    ['Error', error],
    ['Warnings', warnings.length > 0 ? warnings.join('; ') : null],
  ]
}

function readEvictions({ evictions }: RemoteModelCall): {
  readonly brokenBy: string | null
  readonly shaped: readonly { readonly hook: string }[]
} {
  const { prefix, shaped } = Object(evictions) as { prefix?: unknown; shaped?: unknown }
  const { brokenBy } = Object(prefix) as { brokenBy?: unknown }
  return {
    brokenBy: typeof brokenBy === 'string' ? brokenBy : null,
    shaped: Array.isArray(shaped) ? shaped.filter((by) => typeof Object(by).hook === 'string') : [],
  }
}
