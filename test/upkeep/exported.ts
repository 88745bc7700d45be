import type { Store } from '../../src/store/store.ts'
import { exportStore } from '../../src/upkeep/export-store.ts'
import { type ImportOptions, importStore } from '../../src/upkeep/import-store.ts'

/** The whole export as text: only for small stores. */
export async function exported(store: Store, options: { tenant?: string } = {}): Promise<string> {
  let text = ''
  await exportStore(store, (piece) => void (text += piece), options)
  return text
}

export function importText(store: Store, text: string | Uint8Array, options: ImportOptions = {}) {
  const chunks = async function* () {
    yield text
  }
  return importStore(store, chunks(), options)
}
