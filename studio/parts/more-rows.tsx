import { useMemo, useState } from 'react'
import { Button } from './button.tsx'
import { errorWords } from './error-words.ts'

export type Reading = { readonly run: () => void; readonly error: unknown }

/** Reads the next page of a list, one at a time; asked for while it reads, it goes on. `error`: why the last one could not be read. */
export function useReading(read: () => Promise<void>): Reading {
  const [error, setError] = useState<unknown>(null)
  const run = useMemo(() => {
    let isReading = false
    let isAsked = false
    const start = async (): Promise<void> => {
      // The rows of a page are shown before its reading has ended, and may ask for the next.
      isAsked = isReading
      if (isReading) return
      isReading = true
      setError(null)
      try {
        await read()
      } catch (failure) {
        isAsked = false
        setError(failure)
      }
      isReading = false
      if (isAsked) void start()
    }
    return () => void start()
  }, [read])
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
