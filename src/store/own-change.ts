import type { Change } from './change.ts'

const own = new WeakSet<Change>()

/** Marks a change that the engine has built itself: its members are plain values, so the store takes it as it is instead of copying it first. */
export function ownChange(change: Change): Change {
  own.add(change)
  return change
}

export function isOwnChange(change: Change): boolean {
  return own.has(change)
}
