import { useMemo, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { errorWords } from './error-words.ts'

export type Reading = { readonly run: () => void; readonly error: unknown }

/** Reads the next page of a list, one at a time. `error`: why the last one could not be read. */
export function useReading(read: () => Promise<void>): Reading {
  const isReading = useRef(false)
  const [error, setError] = useState<unknown>(null)
  const run = useMemo(
    () => () => {
      if (isReading.current) return
      isReading.current = true
      setError(null)
      read()
        .catch(setError)
        .finally(() => {
          isReading.current = false
        })
    },
    [read],
  )
  return { run, error }
}

/** Below the rows of a list that goes on. */
export function MoreRows({ reading: { run, error } }: { reading: Reading }) {
  return (
    <p role="status" className="p-2 text-center text-faint">
      {error === null ? (
        'Loading more…'
      ) : (
        <>
          {errorWords(error)}{' '}
          <Button kind="quiet" onClick={run}>
            Try again
          </Button>
        </>
      )}
    </p>
  )
}
