import type { View } from 'perdure/client'
import { useEffect, useRef } from 'react'
import { usePlace } from './place.ts'
import { useLoaded } from './use-loaded.ts'
import { useLog } from './use-log.ts'

/** The moment that a conversation page shows. */
export type Moment = {
  /** Null: now. The page then shows the live view. */
  readonly at: number | null
  /** The view of that moment. Null while it is read, and when it shows now. It must be shown as past, and nothing in it can be answered. */
  readonly view: View | null
  readonly error: unknown
}

/**
 * The view of the moment in the address, folded in the page from the log. `last`: the newest event, or undefined while it is not known. While a view is read,
 * the one before stays.
 */
export function useMoment(id: string, last: number | undefined): Moment {
  const { at: asked } = usePlace()
  const { views, log } = useLog(id)
  const at = asked === null || last === undefined || asked >= last || asked < 1 ? null : asked
  const ready = at === null ? undefined : views.peek(at)
  const isKnown = log.last >= (at ?? 0)
  const { value, error } = useLoaded(at === null || ready || !isKnown ? null : `${id} ${at}`, () => views.at(at!))
  const view = ready ?? value
  const shown = useRef<View | null>(null)
  useEffect(() => {
    shown.current = at === null ? null : (view ?? shown.current)
  })
  return { at, view: at === null ? null : (view ?? shown.current), error }
}
