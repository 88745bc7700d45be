import { useClient, useModelCalls } from 'perdure/react'
import { errorWords } from '../parts/error-words.ts'
import { fateWords, messageFate } from './message-fate.ts'
import { usePlace } from './place.ts'
import { useLoaded } from './use-loaded.ts'

const mostCalls = 20

/** What happened to a message in later prompts: shown in full, in the summary only, left out, and why. */
export function LaterPrompts({ id, seq }: { id: string; seq: number }) {
  const client = useClient()
  const { calls, status, error } = useModelCalls(id)
  const later = [...new Set(calls.filter((call) => seenBy(call.evictions) >= seq).map(({ turnRef }) => turnRef))]
    .filter((turnRef) => !/^(summary|title)\//.test(turnRef))
    .slice(-mostCalls)
  const explained = useLoaded(later.length === 0 ? null : `${id} ${seq} ${later.join()}`, async () =>
    Promise.all(
      later.map(async (turnRef) => ({ turnRef, explanations: await client.conversation(id).explain(turnRef) })),
    ),
  )
  const { go } = usePlace()
  if (status === 'loading' || explained.isLoading) return <p className="pb-2 text-faint">Reading later prompts…</p>
  if (error || explained.error) return <p className="pb-2 text-failed">{errorWords(error ?? explained.error)}</p>
  const fates = messageFate(seq, explained.value ?? [])
  if (fates.length === 0)
    return <p className="pb-2 text-soft">No later prompt is recorded. It needs an agent whose audit is not off.</p>
  return (
    <ol className="mb-2 border-b pb-2">
      {fates.map(({ shown, why, from, calls: count }) => (
        <li key={from} className="flex gap-2">
          <button type="button" className="link shrink-0" onClick={() => go({ tab: 'calls', call: from })}>
            {count === 1 ? '1 prompt' : `${count} prompts`}
          </button>
          <span>
            {fateWords[shown]} <span className="text-faint">({why})</span>
          </span>
        </li>
      ))}
    </ol>
  )
}

function seenBy(evictions: unknown): number {
  const { seen } = Object(evictions) as { seen?: unknown }
  return typeof seen === 'number' ? seen : 0
}
