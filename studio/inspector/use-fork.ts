import { useClient } from 'perdure/react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { addresses } from '../addresses.ts'
import { errorWords } from '../parts/error-words.ts'

/** Copies the conversation up to an event, and opens the copy beside what it was made from. */
export function useFork(id: string): {
  readonly isSending: boolean
  readonly error: string | null
  at(seq: number): void
} {
  const client = useClient()
  const [, navigate] = useLocation()
  const [state, setState] = useState<{ isSending: boolean; error: string | null }>({ isSending: false, error: null })
  return {
    ...state,
    at: (seq) => {
      setState({ isSending: true, error: null })
      client
        .conversation(id)
        .fork({ at: seq })
        .then(
          (fork) => navigate(addresses.conversation(fork.id, { tab: 'forks' })),
          (error: unknown) => setState({ isSending: false, error: errorWords(error) }),
        )
    },
  }
}
