import { existsSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder, with those above it that are missing. Node's own `recursive` never comes to an end where a folder is there and takes
 * none, as /proc does: it makes the one above again and again.
 */
export async function makeFolder(path: string, options: { readonly mode?: number } = {}): Promise<void> {
  const above = dirname(path)
  if (above !== path && !existsSync(above)) await makeFolder(above, options)
  try {
    await mkdir(path, options)
  } catch (error) {
    // It was there, or somebody else was faster.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}
