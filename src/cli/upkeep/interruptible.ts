import { Interrupted } from '../interrupt.ts'
import type { UpkeepTarget } from './upkeep-target.ts'

/** Whatever the target does is let go of when somebody ends the command: it rejects with `Interrupted`. */
export function interruptible(target: UpkeepTarget, signal: AbortSignal): UpkeepTarget {
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Interrupted()), { once: true })
  })
  ended.catch(() => {})
  const unlessEnded = <T>(work: Promise<T>): Promise<T> => Promise.race([work, ended])
  return {
    place: target.place,
    exportTo: (write, options) => unlessEnded(target.exportTo(write, options)),
    importFrom: (chunks, options) => unlessEnded(target.importFrom(chunks, options)),
    examine: (options) => unlessEnded(target.examine(options)),
    compareWith: (chunks, onDifference, options) => unlessEnded(target.compareWith(chunks, onDifference, options)),
    unquarantine: (ref) => unlessEnded(target.unquarantine(ref)),
    migrate: (options) => unlessEnded(target.migrate(options)),
    collectGarbage: (options) => unlessEnded(target.collectGarbage(options)),
    // What was let go of may still use it; it ends with the process, as in a crash.
    close: () => (signal.aborted ? Promise.resolve() : target.close()),
  }
}
