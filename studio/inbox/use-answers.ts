import { type InboxItem, PerdureError } from 'perdure/client'
import type { InboxAnswer, LeftItem, UsedInbox } from 'perdure/react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { keyOf } from './item-key.ts'
import { type Did, didOf, type Outcome, outcomeOf } from './words.ts'

/** What came of an item, when the page learned of it, and whether its row goes by itself. */
export type Ended = { readonly outcome: Outcome; readonly at: number; readonly isKept: boolean }

export type Answers = {
  readonly ended: ReadonlyMap<string, Ended>
  /** Whether it was said, now or before, what came of a row. */
  told(key: string): boolean
  /** Never rejects: what came of it is in what it returns, and in `ended`. */
  answer(item: InboxItem, given: InboxAnswer, options?: { readonly isKept?: boolean }): Promise<Outcome>
  /** Lets kept rows go. */
  forget(keys?: Iterable<string>): void
}

/** How long a row says what came of it before it goes. */
const goesMs = 8_000

/** What this page has sent, and what others did to the rows that it shows. */
export function useAnswers(inbox: UsedInbox): Answers {
  const [ended, setEnded] = useState<ReadonlyMap<string, Ended>>(new Map())
  const { answer: send, reload, left } = inbox
  const known = useRef(new Set<string>())
  const told = useCallback((key: string) => known.current.has(key), [])
  const end = useCallback((key: string, entry: Ended | null) => {
    known.current.add(key)
    setEnded((was) => {
      const next = new Map(was)
      if (entry) next.set(key, entry)
      else next.delete(key)
      return next
    })
  }, [])
  const forget = useCallback((keys?: Iterable<string>) => {
    setEnded((was) => {
      const gone = keys ? new Set(keys) : null
      return new Map([...was].filter(([key, { outcome }]) => outcome.type === 'sending' || (gone && !gone.has(key))))
    })
  }, [])
  const goLater = useCallback(
    (key: string, entry: Ended) => {
      end(key, entry)
      if (!entry.isKept) setTimeout(() => setEnded((was) => without(was, key, entry)), goesMs)
    },
    [end],
  )
  const own = useRef(new Set<string>())
  const answer = useCallback<Answers['answer']>(
    async (item, given, { isKept = false } = {}) => {
      const key = keyOf(item)
      end(key, { outcome: { type: 'sending' }, at: Date.now(), isKept })
      own.current.add(key)
      const outcome = await outcomeOfSending(send, item, given)
      if (outcome.type === 'failed' || outcome.type === 'changed') own.current.delete(key)
      goLater(key, { outcome, at: Date.now(), isKept: isKept || outcome.type === 'failed' })
      if (outcome.type === 'accepted') rememberAnswer()
      // It is shown as it is now, and asks again.
      if (outcome.type === 'changed') await reload()
      return outcome
    },
    [send, reload, end, goLater],
  )
  const seen = useRef(new Set<LeftItem>())
  useEffect(() => {
    for (const gone of left) {
      if (seen.current.has(gone)) continue
      seen.current.add(gone)
      const key = keyOf(gone.item)
      // Of what this page sent itself it knows better.
      if (own.current.has(key)) continue
      const did = didOf(gone.status, gone.item.kind)
      goLater(key, {
        outcome: { type: 'lost', who: gone.who, did, at: gone.at },
        at: gone.at,
        isKept: false,
      })
    }
  }, [left, goLater])
  return { ended, told, answer, forget }
}

function without(was: ReadonlyMap<string, Ended>, key: string, entry: Ended): ReadonlyMap<string, Ended> {
  if (was.get(key) !== entry) return was
  const next = new Map(was)
  next.delete(key)
  return next
}

async function outcomeOfSending(send: UsedInbox['answer'], item: InboxItem, given: InboxAnswer): Promise<Outcome> {
  try {
    return outcomeOf(await send(item, given), didBy(given), item.kind)
  } catch (error) {
    if (!PerdureError.isInstance(error)) throw error
    if (error.code === 'arguments_changed') return { type: 'changed' }
    if (error.code === 'call_not_found' || error.code === 'conversation_not_found')
      return { type: 'lost', who: null, did: 'gone', at: null }
    return { type: 'failed', message: error.message }
  }
}

function didBy(given: InboxAnswer): Did {
  if (!('approve' in given)) return 'answered'
  return given.approve ? 'approved' : 'denied'
}

const lastAnswerKey = 'perdure.lastAnswer'

function rememberAnswer(): void {
  localStorage.setItem(lastAnswerKey, String(Date.now()))
}

/** When an answer was last given in this browser; null where none is known. */
export function lastAnswerAt(): number | null {
  const kept = Number(localStorage.getItem(lastAnswerKey))
  return Number.isFinite(kept) && kept > 0 ? kept : null
}
