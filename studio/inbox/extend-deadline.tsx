import { type InboxItem, PerdureError } from 'perdure/client'
import { useClient, useInbox } from 'perdure/react'
import { useState } from 'react'
import { visible } from '../parts/visible.ts'
import { didOf, outcomeWords } from './words.ts'

const hour = 3_600_000
const choices = [
  ['In 1 hour', hour],
  ['In 1 day', 24 * hour],
  ['In 7 days', 7 * 24 * hour],
  ['In 30 days', 30 * 24 * hour],
  ['Never', null],
] as const

/** Gives the item another deadline, counted from now. The row shows it when it is durable. */
export function ExtendDeadline({ item }: { item: InboxItem }) {
  const client = useClient()
  const { reload } = useInbox()
  const [state, setState] = useState<'idle' | 'sending' | { readonly words: string }>('idle')
  const extend = async (expiresInMs: number | null): Promise<void> => {
    setState('sending')
    const id = item.path[0]?.conversationId ?? item.conversationId
    try {
      const call = { callId: item.callId, round: item.round }
      const extended = await client.conversation(id).extendDeadline(call, { expiresInMs })
      // The row shows the new deadline before the button is free again.
      await reload()
      if (extended.accepted) return setState('idle')
      const { who, status, at } = extended.resolution
      setState({ words: outcomeWords({ type: 'lost', who, did: didOf(status, item.kind), at }) })
    } catch (error) {
      if (!PerdureError.isInstance(error)) throw error
      setState({ words: `Not moved: ${visible(error.message, 200)}` })
    }
  }
  return (
    <>
      <select
        aria-label="Move the deadline"
        className="[field-sizing:content] rounded-(--radius) bg-transparent text-soft hover:text-text max-md:min-h-11"
        value=""
        disabled={state === 'sending'}
        onChange={(event) => {
          const chosen = choices[Number(event.target.value)]
          if (event.target.value !== '' && chosen) void extend(chosen[1])
        }}
      >
        <option value="">{state === 'sending' ? 'Sending…' : 'Move'}</option>
        {choices.map(([words], index) => (
          <option key={words} value={index}>
            {words}
          </option>
        ))}
      </select>
      {typeof state === 'object' && (
        <span role="alert" className="text-waiting">
          {state.words}
        </span>
      )}
    </>
  )
}
