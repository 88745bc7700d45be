import { chmod, readdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../harness/target.ts'
import type { Finding } from '../harness/verdict.ts'
import { withFolder } from '../harness/with-target.ts'
import { checkLedger } from '../workload/check-ledger.ts'
import { startWriter } from '../workload/start-writer.ts'
import { canRun } from './can-run.ts'
import { checkFailures, countFailures } from './check-failures.ts'

/** Permissions do not bind root, so root gives that privilege away. */
const bound = ['setpriv', '--bounding-set', '-dac_override']
const enoughAnswers = 20
const enoughFailures = 5

/** The file and its folder may not be written to; then they may. */
export async function readOnlyFile({ seed }: { readonly seed: number }): Promise<Finding> {
  const wrapper = userInfo().uid === 0 ? bound : []
  if (wrapper.length > 0 && !(await canRun('setpriv'))) {
    return { violations: [], skipped: ['root may write to every file, and setpriv is not installed'], counts: {} }
  }
  return withFolder(async (folder) => {
    const target = { store: 'sqlite', path: join(folder, 'log.db') } as const
    const owner = await openStore(target)
    await owner.appendEvent('before', { type: 'titled', content: { title: 'written while it was allowed' } })
    await owner.close()
    await allow(folder, { folder: 0o555, files: 0o444 })
    const input = { target, seed, prefix: 'read-only', lanes: 2, padBytes: 100 }
    const writer = startWriter(input, { wrapper })
    const violations: string[] = []
    const wasMet = await writer.until((ledger) => ledger.failures().length >= enoughFailures)
    if (writer.ledger.answers > 0) violations.push('a commit was acknowledged on a file that cannot be written')
    await allow(folder, { folder: 0o777, files: 0o666 })
    if (!(await writer.until((ledger) => ledger.answers >= enoughAnswers))) {
      violations.push('the store did not work when the file could be written again')
    }
    const { code, complaint } = await writer.stop()
    if (code !== 0) violations.push(`the writer ended with ${code}: ${complaint}`)
    const store = await openStore(target)
    violations.push(...(await checkLedger(store, writer.ledger)).violations)
    if ((await store.streamEvents('before')).length !== 1) violations.push('what was there before is gone')
    await store.close()
    const failures = writer.ledger.failures()
    violations.push(...checkFailures(failures))
    const missing = wasMet ? [] : ['no write failed on the read-only file']
    return {
      violations,
      notExercised: missing,
      counts: { acknowledged: writer.ledger.answers, ...countFailures(failures) },
    }
  })
}

async function allow(folder: string, modes: { readonly folder: number; readonly files: number }): Promise<void> {
  for (const name of await readdir(folder)) await chmod(join(folder, name), modes.files)
  await chmod(folder, modes.folder)
}
