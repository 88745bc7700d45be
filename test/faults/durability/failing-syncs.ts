import { join } from 'node:path'
import { openStore } from '../harness/target.ts'
import type { Finding } from '../harness/verdict.ts'
import { withFolder } from '../harness/with-target.ts'
import { checkLedger } from '../workload/check-ledger.ts'
import { startWriter } from '../workload/start-writer.ts'
import { checkFailures, countFailures } from './check-failures.ts'
import { checkSyncOrder } from './check-sync-order.ts'
import { type FailingSyncs, straceCommand, straceProblem, traceLines } from './strace.ts'

export type FailingSyncsOptions = {
  readonly seed: number
  readonly failing: FailingSyncs
  readonly volleys: number
}

/** The kernel answers some syncs with EIO. What was on its way is unknown; nothing later may be acknowledged on top of what was lost. */
export async function failingSyncs({ seed, failing, volleys }: FailingSyncsOptions): Promise<Finding> {
  const problem = await straceProblem()
  if (problem) return { violations: [], skipped: [problem], counts: {} }
  return withFolder(async (folder) => {
    const target = { store: 'sqlite', path: join(folder, 'log.db') } as const
    const trace = join(folder, 'trace')
    const input = { target, seed, prefix: 'eio', lanes: 4, padBytes: 3000, volleys }
    const writer = startWriter(input, { wrapper: straceCommand(trace, failing) })
    const { code, complaint } = await writer.child.ended
    const violations: string[] = []
    if (code !== 0) violations.push(`the writer ended with ${code}: ${complaint}`)
    const { acknowledged, syncs, failedSyncs, violations: disorder } = checkSyncOrder(await traceLines(trace))
    const store = await openStore(target)
    violations.push(...disorder, ...(await checkLedger(store, writer.ledger)).violations)
    await store.close()
    const failures = writer.ledger.failures()
    violations.push(...checkFailures(failures))
    const last = [...writer.ledger.entries.values()].at(-1)
    if (!last?.answers.length) violations.push('the store did not work again after the last failed sync')
    const missing = failedSyncs === 0 || failures.length === 0 ? ['no sync failed'] : []
    const counts = { failing, acknowledged, syncs, failedSyncs, ...countFailures(failures) }
    return { violations, notExercised: missing, counts }
  })
}
