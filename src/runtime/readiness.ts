import type { Clock } from '../base/clock.ts'
import { withTimeout } from '../base/with-timeout.ts'
import type { Store } from '../store/store.ts'

/** Whether a process can do its work now. */
export type Readiness = {
  readonly isReady: boolean
  /** Whether a read of the store was answered in time. */
  readonly store: 'ok' | 'failed' | 'silent'
  /** `stuck`: it has not been able to look for work for a while. `off`: this node has none (`work: false`). */
  readonly worker: 'ok' | 'stuck' | 'off' | 'closed'
}

type Asked = {
  readonly store: Store
  readonly clock: Clock
  readonly worker: { readonly isClosed: boolean; isStuck(): boolean } | null
  readonly timeoutMs: number
}

/** Asks the store and the worker. Never rejects, and takes no longer than `timeoutMs`. */
export async function readinessOf({ store, clock, worker, timeoutMs }: Asked): Promise<Readiness> {
  const answered = await withTimeout<Readiness['store']>(isAnswered(store), timeoutMs, clock, () => 'silent')
  const working = worker === null ? 'off' : worker.isClosed ? 'closed' : worker.isStuck() ? 'stuck' : 'ok'
  const isReady = answered === 'ok' && (working === 'ok' || working === 'off')
  return { isReady, store: answered, worker: working }
}

async function isAnswered(store: Store): Promise<'ok' | 'failed'> {
  try {
    await store.getConversation('perdure-readiness')
    return 'ok'
  } catch {
    // Why is logged where the work fails; here it only matters that it does.
    return 'failed'
  }
}
