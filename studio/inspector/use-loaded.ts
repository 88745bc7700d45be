import { useCallback, useEffect, useRef, useState } from 'react'

/** Something that is read once, again with `reload`, and again when `key` changes. What was read stays until the next has come. */
export type Loaded<T> = {
  readonly value: T | null
  readonly isLoading: boolean
  readonly error: unknown
  reload(): void
}

/** `key`: what it is read for; null reads nothing. */
export function useLoaded<T>(key: string | null, read: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ readonly of: string; readonly value: T | null; readonly error: unknown } | null>(
    null,
  )
  const [attempt, setAttempt] = useState(0)
  // A function that is made anew asks for the same: only the key says what to read.
  const reader = useRef(read)
  useEffect(() => {
    reader.current = read
  })
  const asked = key === null ? null : `${attempt} ${key}`
  useEffect(() => {
    if (asked === null) return
    const of = asked.slice(asked.indexOf(' ') + 1)
    let isLeft = false
    reader.current().then(
      (value) => isLeft || setState({ of, value, error: null }),
      (error: unknown) => isLeft || setState({ of, value: null, error }),
    )
    return () => {
      isLeft = true
    }
  }, [asked])
  const reload = useCallback(() => setAttempt((was) => was + 1), [])
  const isCurrent = state?.of === key
  return {
    ...{ value: isCurrent ? (state?.value ?? null) : null, error: isCurrent ? (state?.error ?? null) : null, reload },
    isLoading: key !== null && !isCurrent,
  }
}
