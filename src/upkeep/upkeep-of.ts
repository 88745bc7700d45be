import { UpkeepUnsupportedError } from '../base/errors/upkeep-errors.ts'
import type { Store } from '../store/store.ts'
import type { Upkeep } from '../store/upkeep.ts'

export function upkeepOf(store: Pick<Store, 'upkeep'>): Upkeep {
  if (!store.upkeep) throw new UpkeepUnsupportedError()
  return store.upkeep
}
