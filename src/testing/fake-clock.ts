import type { Clock } from '../base/clock.ts'
import type { Conversation } from '../runtime/conversation.ts'
import { projectView } from '../view/growing-view.ts'
import type { View } from '../view/view.ts'

/** A clock that tests move. */
export type FakeClock = Clock & {
  /** Lets `ms` pass: timers that fall due on the way are called at their own time, in order. */
  advance(ms: number): Promise<void>
  /** Jumps to a time, like a machine that slept: timers due by then are called late. A jump backwards calls nothing. */
  set(now: number): Promise<void>
}

type Timer = { readonly dueAt: number; readonly callback: () => void }

/** A clock that stands still until a test moves it. */
export function fakeClock(start = Date.UTC(2030, 0, 1)): FakeClock {
  let now = start
  let elapsed = 0
  const moveTo = (time: number): void => {
    elapsed += Math.max(0, time - now)
    now = time
  }
  const timers = new Set<Timer>()

  /** Also calls timers that the callbacks set, if they fall due by then. */
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

/** The timer due first; among equals, the one set first. */
function earliest(timers: Iterable<Timer>): Timer | null {
  let first: Timer | null = null
  for (const timer of timers) if (!first || timer.dueAt < first.dueAt) first = timer
  return first
}

/** One turn of the event loop: every promise chain that waits for nothing outside has finished. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Waits until a conversation's log is in a phase: `idle`, `running`, `waiting` or `terminating`. */
export async function untilState(conversation: Pick<Conversation, 'watch'>, phase: View['phase']): Promise<View> {
  let view: View | null = null
  for await (const event of conversation.watch()) {
    if (event.type === 'snapshot') view = event.view
    else if (view) view = projectView(view, event)
    if (view?.phase === phase) return view
  }
  throw new Error(`the watch ended before the conversation was ${phase}`)
}
