import { useCallback, useEffect, useRef, useState } from 'react'
import { lastDialogClosedAt } from '../parts/use-modal.ts'
import { heldBack, nowShown, type Shown, seen } from './safe-hand.ts'

export type SafeHand = {
  /** The item became another one while it was shown: nothing is sent until `confirm`. */
  readonly isChanged: boolean
  /** Why an answer to this version was not sent, for the person to read; null when it may be sent. */
  held(version: string): string | null
  confirm(): void
}

/** Keeps a key or a click from answering what a person has not had the time to read. */
export function useSafeHand(place: string, version: string): SafeHand {
  const [shown, setShown] = useState<Shown | null>(null)
  const latest = useRef<Shown | null>(null)
  useEffect(() => {
    setShown((was) => nowShown(was, place, version, performance.now()))
  }, [place, version])
  useEffect(() => {
    latest.current = shown
  }, [shown])
  useEffect(() => {
    // While the tab was hidden nothing was shown.
    const onVisible = (): void => {
      if (document.visibilityState === 'visible') setShown((was) => was && { ...was, since: performance.now() })
    }
    document.addEventListener('visibilitychange', onVisible)
    return () => document.removeEventListener('visibilitychange', onVisible)
  }, [])
  const held = useCallback((of: string) => {
    const why = heldBack(latest.current, of, performance.now(), lastDialogClosedAt())
    return why && heldWords[why]
  }, [])
  const confirm = useCallback(() => setShown((was) => was && seen(was, performance.now())), [])
  return { isChanged: shown !== null && shown.place === place && shown.isChanged, held, confirm }
}

const heldWords = {
  changed: 'Not sent: this changed. Look at it again.',
  'too soon': 'Not sent: this had only just appeared. Press again.',
  'after a dialog': 'Not sent: a dialog had only just closed. Press again.',
}
