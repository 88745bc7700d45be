import type { Store } from '../../src/store/store.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'

/** What the doctor has to say about a store, notices apart. */
export async function faultsIn(store: Pick<Store, 'upkeep'>): Promise<string[]> {
  const faults: string[] = []
  await examineStore(store, {
    onFinding({ severity, code, tenant, conversation, problem }) {
      if (severity === 'fault') faults.push(`the doctor finds ${code} in ${tenant}/${conversation}: ${problem}`)
    },
  })
  return faults
}
