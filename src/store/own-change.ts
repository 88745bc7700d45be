import type { Change } from './change.ts'

const own = Symbol('own')
/** Callers can forge neither the symbol nor this object, so a proxy that answers every read is not taken for our own. */
const proof = {}

type Marked = Change & { [own]?: typeof proof }

/** Marks a change that the engine has built itself: its members are plain values, so the store takes it as it is instead of copying it first. */
export function ownChange(change: Change): Change {
  const marked: Marked = change
  marked[own] = proof
  return marked
}

export function isOwnChange(change: Change): boolean {
  return (change as Marked | null | undefined)?.[own] === proof
}
