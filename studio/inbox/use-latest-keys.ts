import { useEffect, useMemo, useRef } from 'react'
import { type Key, useKeys } from '../shell/keys.ts'

/** Keys that do what the last render says. */
export function useLatestKeys(keys: readonly Key[]): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  const names = JSON.stringify(keys.map(({ key, does }) => [key, does]))
  const steady = useMemo(
    () =>
      (JSON.parse(names) as [string, string][]).map(([key, does]): Key => {
        const run = (): void => latest.current.find((other) => other.key === key)?.run()
        return { key, does, run }
      }),
    [names],
  )
  useKeys(steady)
}
