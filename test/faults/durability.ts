import { crashStop } from './durability/crash-stop.ts'
import { failingSyncs } from './durability/failing-syncs.ts'
import { flushOrder } from './durability/flush-order.ts'
import { fullDisk } from './durability/full-disk.ts'
import { readOnlyFile } from './durability/read-only-file.ts'
import { readOnlyServer } from './durability/read-only-server.ts'
import { syncOrder } from './durability/sync-order.ts'
import { runCommand } from './harness/command.ts'
import { judge, type Verdict } from './harness/verdict.ts'
import type { Place } from './harness/with-target.ts'

export type DurabilityOptions = Place & {
  readonly seed: number
  /** How often each fault is brought about. Default: 5. */
  readonly rounds?: number
}

/** What was acknowledged is on disk, and a disk or server that fails is told of, survived, and forgiven. */
export async function durability(options: DurabilityOptions): Promise<Verdict> {
  const { store, seed, rounds = 5 } = options
  const volleys = 40 + 20 * rounds
  // Ends before the volleys do, so that there is an afterwards.
  const nowAndThen = `12..${volleys - 20}+9`
  const parts = {
    sqlite: [
      { name: 'sync order', find: () => syncOrder({ seed, volleys }) },
      { name: 'failing syncs, now and then', find: () => failingSyncs({ seed, volleys, failing: nowAndThen }) },
      { name: 'failing syncs, in a row', find: () => failingSyncs({ seed, volleys, failing: '15..25' }) },
      { name: 'failing syncs, while opening', find: () => failingSyncs({ seed, volleys, failing: '1..7' }) },
      { name: 'full disk', find: () => fullDisk({ seed, times: rounds }) },
      { name: 'limited files', find: () => fullDisk({ seed, times: rounds, kinds: ['limit'] }) },
      { name: 'read-only file', find: () => readOnlyFile({ seed }) },
    ],
    postgres: [
      { name: 'flush order', find: () => flushOrder({ rounds: rounds * 10 }) },
      { name: 'crash', find: () => crashStop({ seed, times: rounds }) },
      { name: 'read-only server', find: () => readOnlyServer(options, { seed, times: rounds }) },
    ],
  }
  return judge({ program: 'durability', store, seed }, parts[store])
}

await runCommand(import.meta, durability)
