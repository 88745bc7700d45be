import type { TurnItem, TurnState } from '../../log/state.ts'

/** A message stands before the user messages its prompt did not have, also when those were committed first. */
export function orderedItems(turn: TurnState): TurnItem[] {
  const ordered: TurnItem[] = []
  for (const item of turn.items) {
    if (item.type !== 'assistant') {
      ordered.push(item)
      continue
    }
    const firstUnseen = ordered.findIndex((earlier) => earlier.type === 'user' && earlier.seq > item.seen)
    ordered.splice(firstUnseen < 0 ? ordered.length : firstUnseen, 0, item)
  }
  return ordered
}
