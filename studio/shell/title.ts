import { useEffect, useLayoutEffect } from 'react'
import { isAt, places } from './places.ts'

let words = ''
let waiting = 0

function write(): void {
  const count = waiting > 0 ? `(${waiting.toLocaleString()}) ` : ''
  document.title = `${count}${words ? `${words} · ` : ''}Perdure`
}

/** The title of a page that knows a better one than its place: the title of a conversation, the id of a session. */
export function useTitle(title: string): void {
  useEffect(() => {
    words = title
    write()
  }, [title])
}

/** The title of a place, until its page says more. What waits for an answer comes first, so that a tab in the background shows it. */
export function usePlaceTitle(location: string, waitingNow: number): void {
  // Before the effects of the page: its own title comes last.
  useLayoutEffect(() => {
    words = places.find((place) => isAt(location, place))?.name ?? ''
    write()
  }, [location])
  useLayoutEffect(() => {
    waiting = waitingNow
    write()
  }, [waitingNow])
}
