import { silentLogger } from '../../base/logger.ts'
import { collectGarbage } from '../../upkeep/collect-garbage.ts'
import { differencesWith } from '../../upkeep/differences-with.ts'
import { examineStore } from '../../upkeep/examine-store.ts'
import { exportStore } from '../../upkeep/export-store.ts'
import { importStore } from '../../upkeep/import-store.ts'
import { migrateStore, unquarantine } from '../../upkeep/whole-store.ts'
import { agentNames } from '../load-config.ts'
import { openStore } from '../target/open-store.ts'
import type { StoreArgs } from '../target/target-args.ts'
import type { UpkeepTarget } from './with-upkeep.ts'

/** Opens the store only to look after it: deadlines are left to whoever works on it. */
export async function openLocalUpkeep(
  args: StoreArgs,
  { create }: { readonly create: boolean },
): Promise<UpkeepTarget> {
  const { store, place, loaded } = await openStore(args, { logger: silentLogger, create, expiry: false })
  return {
    place,
    exportTo: (write, options) => exportStore(store, write, options),
    async importFrom(chunks, options) {
      const imported = await importStore(store, chunks, options)
      // An export of nothing writes nothing, and whoever imported it wants a store.
      await migrateStore(store)
      return imported
    },
    examine: (options) => examineStore(store, { ...options, ...(loaded ? { agents: agentNames(loaded.config) } : {}) }),
    compareWith: (chunks, onDifference, options) => differencesWith(store, chunks, onDifference, options),
    unquarantine: (ref) => unquarantine(store, ref),
    migrate: (options) => migrateStore(store, options),
    collectGarbage: (options) => collectGarbage(store, options),
    close: () => store.close(),
  }
}
