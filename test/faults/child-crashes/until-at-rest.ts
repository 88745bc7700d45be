import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../../src/store/store.ts'
import { stories } from './family.ts'

const patienceMs = 20_000

/** Waits until parents and children have ended and were let go. Returns those that have not. */
export async function untilAtRest(store: Store, prefix: string): Promise<string[]> {
  const parents = stories.map((story) => `${prefix}${story}`)
  for (const giveUpAt = Date.now() + patienceMs; ; ) {
    const all = await store.listConversations({ limit: 10_000 })
    const own = all.filter(({ id, parent }) => parents.includes(id) || parents.includes(parent?.id ?? ''))
    const restless = own.filter(({ status, fsmState, lastSeq }) => status !== 'idle' || fsmState?.lastSeq !== lastSeq)
    if ((own.length >= 2 && restless.length === 0) || Date.now() > giveUpAt) return restless.map(({ id }) => id)
    await sleep(10)
  }
}
