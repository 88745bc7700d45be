import { type InboxItem, type PendingItem, PerdureError, type View } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useEffect, useState } from 'react'
import { keyOf } from './item-key.ts'

/** What a person needs beside an item: the conversation around it, and the form of its answer. */
export type ItemContext = {
  readonly view: View | null
  readonly pending: PendingItem | null
  /** `refused`: this person may answer, but not read. */
  readonly status: 'loading' | 'ready' | 'refused' | 'failed'
  readonly message: string | null
}

const loading: ItemContext = { view: null, pending: null, status: 'loading', message: null }
const none: ItemContext = { ...loading, status: 'ready' }

/** How long an item must be shown before its conversation is read: keys go through a list faster. */
const settleMs = 80

/** Reads the conversation that the person of the item talks to. Sessions have none. */
export function useItemContext(item: InboxItem): ItemContext & { retry(): void } {
  const client = useClient()
  const [attempt, setAttempt] = useState(0)
  const request = `${attempt} ${keyOf(item)}`
  const [found, setFound] = useState<{ readonly request: string; readonly context: ItemContext } | null>(null)
  const { kind, callId, round } = item
  const id = kind === 'flow' ? null : (item.path[0]?.conversationId ?? item.conversationId)
  useEffect(() => {
    if (id === null) return
    let isOld = false
    const read = async (): Promise<ItemContext> => {
      const view = await client.conversation(id).view()
      const pending = view.pending.find((other) => other.callId === callId && other.round === round) ?? null
      return { view, pending, status: 'ready', message: null }
    }
    const timer = setTimeout(() => {
      void read()
        .catch(failed)
        .then((context) => {
          if (!isOld) setFound({ request, context })
        })
    }, settleMs)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [client, id, callId, round, request])
  const retry = (): void => setAttempt((was) => was + 1)
  if (id === null) return { ...none, retry }
  return { ...(found?.request === request ? found.context : loading), retry }
}

function failed(error: unknown): ItemContext {
  if (!PerdureError.isInstance(error)) throw error
  const isRefused = error.code === 'conversation_not_found'
  return { ...loading, status: isRefused ? 'refused' : 'failed', message: error.message }
}
