import type { Clock } from '../base/clock.ts'
import type { Conversation } from '../runtime/conversation.ts'
import { projectView } from '../view/growing-view.ts'
import type { View } from '../view/view.ts'

/** A clock that tests move. */
export type FakeClock = Clock & {
  /** Lets so much time pass: what falls due on the way is called at its own time, in order. */
  advance(ms: number): Promise<void>
  /** Jumps to a time, as a machine does that slept: what has fallen due by then is called late. Backwards calls nothing. */
  set(now: number): Promise<void>
}

type Timer = { readonly dueAt: number; readonly callback: () => void }

/** A clock that stands still until it is moved. */
export function fakeClock(start = Date.UTC(2030, 0, 1)): FakeClock {
  let now = start
  let elapsed = 0
  const moveTo = (time: number): void => {
    elapsed += Math.max(0, time - now)
    now = time
  }
  const timers = new Set<Timer>()

  /** Also what the callbacks set up is called, when it falls due by then. */
  async function callUntil(end: number, enter: (timer: Timer) => void): Promise<void> {
    await promisesSettled()
    for (let timer = earliest(timers); timer && timer.dueAt <= end; timer = earliest(timers)) {
      timers.delete(timer)
      enter(timer)
      timer.callback()
      await promisesSettled()
    }
  }

  return {
    now: () => now,
    monotonic: () => elapsed,
    after(delayMs, callback) {
      const timer = { dueAt: now + Math.max(0, delayMs), callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(ms) {
      const end = now + ms
      await callUntil(end, ({ dueAt }) => {
        moveTo(Math.max(now, dueAt))
      })
      moveTo(Math.max(now, end))
    },
    async set(time) {
      moveTo(time)
      await callUntil(time, () => {})
    },
  }
}

/** The first set of those due first. */
function earliest(timers: Iterable<Timer>): Timer | null {
  let first: Timer | null = null
  for (const timer of timers) if (!first || timer.dueAt < first.dueAt) first = timer
  return first
}

/** A turn of the event loop: every chain of promises that waits for nothing outside has come to its end. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Waits until a conversation is in a state, as its log says: `idle`, `running`, `awaiting_input` or `terminating`. */
export async function untilState(conversation: Pick<Conversation, 'watch'>, state: View['state']): Promise<View> {
  let view: View | null = null
  for await (const event of conversation.watch()) {
    if (event.type === 'snapshot') view = event.view
    else if (view) view = projectView(view, event)
    if (view?.state === state) return view
  }
  throw new Error(`the conversation was let go of before it was ${state}`)
}
