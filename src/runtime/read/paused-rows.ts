import type { KnownPauses } from '../../store/known-pauses.ts'
import type { PausableRow } from '../../store/steering.ts'

/** Since when no process takes it. By whom and why is for operators: see `Runtime.pauses`. */
export type PausedSince = { readonly at: number }

/** The items of a list, with since when each is paused. `rowOf`: the conversation that an item is about. */
export async function withPauses<Item extends { readonly paused?: PausedSince }>(
  pauses: KnownPauses,
  items: readonly Item[],
  rowOf: (item: Item) => PausableRow,
): Promise<Item[]> {
  const found = await pauses.of(items.map(rowOf))
  return items.map((item, index) => {
    const pause = found[index]
    return pause ? { ...item, paused: { at: pause.at } } : item
  })
}
