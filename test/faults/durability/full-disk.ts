import { join } from 'node:path'
import type { Finding } from '../harness/verdict.ts'
import { endure } from './endure.ts'
import { type SmallDisk, withSmallDisk } from './small-disk.ts'

export type FullDiskOptions = {
  readonly seed: number
  readonly times: number
  /** Which ways to make a disk full may be used. Default: the first that works. */
  readonly kinds?: readonly SmallDisk['kind'][]
}

/** The disk is full for a while, for real. */
export async function fullDisk({ seed, times, kinds }: FullDiskOptions): Promise<Finding> {
  const finding = await withSmallDisk<Finding>(async ({ kind, folder, full }) => {
    const target = { store: 'sqlite', path: join(folder, 'log.db') } as const
    const input = { seed, prefix: 'full', lanes: 4, padBytes: 2000 }
    const { violations, met, counts } = await endure(full, { target, input, times })
    const missing = met < times ? [`writes failed only ${met} of ${times} times`] : []
    return { violations, notExercised: missing, counts: { by: kind, times: met, ...counts } }
  }, kinds)
  return (
    finding ?? {
      violations: [],
      skipped: ['a disk cannot be made full here: mount is not permitted, and prlimit is not installed'],
      counts: {},
    }
  )
}
