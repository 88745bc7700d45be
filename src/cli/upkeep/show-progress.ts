import type { OnProgress } from '../../upkeep/progress.ts'
import { type Progress, startProgress } from '../progress.ts'

/** Shows how many conversations are done while `work` runs, also when it fails. */
export async function showProgress<T>(label: string, work: (onProgress: OnProgress) => Promise<T>): Promise<T> {
  let shown: Progress | null = null
  let seen = 0
  try {
    return await work(({ done, total }) => {
      shown ??= startProgress({ label, total })
      shown.advance(done - seen)
      seen = done
    })
  } finally {
    ;(shown as Progress | null)?.end()
  }
}
