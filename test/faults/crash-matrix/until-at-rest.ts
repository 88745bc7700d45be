import { setTimeout as sleep } from 'node:timers/promises'
import { foldEvents } from '../../../src/log/fold-events.ts'
import type { Store } from '../../../src/store/store.ts'
import { isUpToDate } from '../../simulator/promises/check-rest.ts'
import { matrixScenarios } from './matrix-scenarios.ts'

const patienceMs = 20_000

/** Waits until every turn has ended and every conversation was let go. Returns those that are not. */
export async function untilAtRest(store: Store, prefix: string): Promise<string[]> {
  for (const until = Date.now() + patienceMs; ; ) {
    const restless: string[] = []
    for (const { name } of matrixScenarios) if (!(await isAtRest(store, `${prefix}${name}`))) restless.push(name)
    if (restless.length === 0 || Date.now() > until) return restless
    await sleep(5)
  }
}

async function isAtRest(store: Store, id: string): Promise<boolean> {
  const record = await store.getConversation(id)
  const log = await store.streamEvents(id)
  const { turns } = foldEvents(log)
  return turns.length > 0 && turns.every((turn) => turn.end !== null) && isUpToDate(record?.fsmState ?? null, log)
}
