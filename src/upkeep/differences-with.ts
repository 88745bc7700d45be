import type { Store } from '../store/store.ts'
import { type ContentItem, contentOfExport, contentOfStore } from './content-items.ts'
import { upkeepOf } from './upkeep-of.ts'

/** What one of two has and the other has not, or has otherwise. */
export type Difference = {
  readonly tenant: string
  readonly what: 'blob' | 'conversation' | 'snapshot'
  readonly id: string
  /** `store`: only the store has it. `export`: only the export. `both`: they differ. */
  readonly has: 'store' | 'export' | 'both'
}

/**
 * Compares a store with an export, item by item in their common order, in flat memory. Nothing yielded means: identical, but for leases. What `onDifference` returns
 * is waited for.
 */
export async function differencesWith(
  store: Pick<Store, 'upkeep'>,
  chunks: AsyncIterable<Uint8Array | string>,
  onDifference: (difference: Difference) => unknown,
  { tenant }: { readonly tenant?: string } = {},
): Promise<number> {
  return upkeepOf(store).snapshot(async (reader) => {
    const ours = contentOfStore(reader, tenant ?? null)
    const theirs = contentOfExport(chunks)
    let count = 0
    const tell = async ({ tenant: of, what, id }: ContentItem, has: Difference['has']): Promise<void> => {
      count += 1
      await onDifference({ tenant: of, what, id, has })
    }
    let [left, right] = [await ours.next(), await theirs.next()]
    while (!left.done || !right.done) {
      const order = left.done ? 1 : right.done ? -1 : Buffer.compare(left.value.key, right.value.key)
      if (order < 0) await tell(left.value!, 'store')
      else if (order > 0) await tell(right.value!, 'export')
      else if (left.value!.digest !== right.value!.digest) await tell(left.value!, 'both')
      if (order <= 0) left = await ours.next()
      if (order >= 0) right = await theirs.next()
    }
    return count
  })
}
