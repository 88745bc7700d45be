import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnChild } from '../harness/spawn-child.ts'
import { openStore, type Target } from '../harness/target.ts'
import type { Finding } from '../harness/verdict.ts'
import { withFolder } from '../harness/with-target.ts'
import { checkLedger } from '../workload/check-ledger.ts'
import { startWriter } from '../workload/start-writer.ts'
import { checkSyncOrder } from './check-sync-order.ts'
import { straceCommand, straceProblem, traceLines } from './strace.ts'

export type SyncOrderOptions = {
  readonly seed: number
  readonly volleys: number
  /** Lets the child open its files without syncing, to show that this check can fail. */
  readonly isWeakened?: boolean
}

/** Watches the system calls of a writer: no acknowledgement may leave the process before its sync has come back. */
export async function syncOrder({ seed, volleys, isWeakened = false }: SyncOrderOptions): Promise<Finding> {
  const problem = await straceProblem()
  if (problem) return { violations: [], skipped: [problem], counts: {} }
  return withFolder(async (folder) => {
    const target: Target = { store: 'sqlite', path: join(folder, 'log.db') }
    const traces = [join(folder, 'commits.trace'), join(folder, 'methods.trace')] as const
    const nodeArguments = isWeakened ? ['--import', fileURLToPath(new URL('./never-sync.ts', import.meta.url))] : []
    const input = { target, seed, prefix: 'sync', lanes: 4, padBytes: 1500, volleys }
    const writer = startWriter(input, { wrapper: straceCommand(traces[0]), nodeArguments })
    const end = await writer.child.ended
    const methods = spawnChild({
      script: new URL('../workload/every-write-child.ts', import.meta.url),
      input: { target, prefix: 'every' },
      onMessage: () => {},
      wrapper: straceCommand(traces[1]),
      nodeArguments,
    })
    const methodsEnd = await methods.ended
    const violations: string[] = []
    for (const { code, complaint } of [end, methodsEnd]) {
      if (code !== 0) violations.push(`the traced process ended with ${code}: ${complaint}`)
    }
    const commits = checkSyncOrder(await traceLines(traces[0]))
    const others = checkSyncOrder(await traceLines(traces[1]))
    const store = await openStore(target)
    violations.push(
      ...commits.violations,
      ...others.violations,
      ...(await checkLedger(store, writer.ledger)).violations,
    )
    await store.close()
    const counts = {
      acknowledged: commits.acknowledged,
      syncs: commits.syncs,
      methods: others.acknowledged,
      methodSyncs: others.syncs,
    }
    const missing = commits.acknowledged < volleys ? ['fewer acknowledgements were seen than volleys were sent'] : []
    return { violations, notExercised: missing, counts }
  })
}
