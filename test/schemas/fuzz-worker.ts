import { workerData } from 'node:worker_threads'
import { pairOf } from './pair.ts'
import { ourVerdict, plainVerdict, verdicts } from './verdict.ts'

export type FuzzWork = {
  readonly who: 'ours' | 'plain'
  readonly seed: number
  readonly first: number
  /** Shared: the number that is being worked on. Read by the watchdog. */
  readonly current: Int32Array
  /** Shared: the verdict on each pair. */
  readonly verdicts: Uint8Array
  /** Shared: what each took of the processor, in microseconds. */
  readonly micros: Int32Array
}

const { who, seed, first, current, ...told } = workerData as FuzzWork

for (let number = first; number < told.verdicts.length; number++) {
  Atomics.store(current, 0, number)
  const pair = pairOf(seed, number)
  if (who === 'plain' && pair.isHostile) continue
  const before = process.threadCpuUsage()
  const verdict = who === 'ours' ? ourVerdict(pair) : plainVerdict(pair)
  const { user, system } = process.threadCpuUsage(before)
  told.micros[number] = user + system
  told.verdicts[number] = verdict ?? verdicts.none
}
Atomics.store(current, 0, told.verdicts.length)
