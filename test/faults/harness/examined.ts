import { faultsIn } from '../../upkeep/faults-in.ts'
import { openStore, type Target } from './target.ts'

/** What came of `work`; fails when the doctor finds fault with the store that all its kills have left behind. */
export async function examined<T>(target: Target, work: Promise<T>): Promise<T> {
  const result = await work
  const store = await openStore(target)
  try {
    const faults = await faultsIn(store)
    if (faults.length > 0) throw new Error(`after the kills ${faults.slice(0, 10).join('; ')}`)
    return result
  } finally {
    await store.close()
  }
}
