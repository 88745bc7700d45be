import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildOptions } from '../harness/spawn-child.ts'
import { openStore, type Target } from '../harness/target.ts'
import { checkLedger } from '../workload/check-ledger.ts'
import type { WriterMessage } from '../workload/ledger.ts'
import { startWriter, type Writer } from '../workload/start-writer.ts'
import type { WriterInput } from '../workload/writer-child.ts'
import { checkFailures, countFailures } from './check-failures.ts'

/** A fault that can be switched on and off while a writer is at work. */
export type Fault = {
  begin(writer: Writer): Promise<void>
  end(writer: Writer): Promise<void>
}

export type Endured = {
  readonly violations: readonly string[]
  /** Times that writes failed while the fault lasted. */
  readonly met: number
  readonly counts: { readonly acknowledged: number; readonly failures: number; readonly ambiguous: number }
}

export type EndureOptions = {
  readonly target: Target
  readonly input: Omit<WriterInput, 'target'>
  readonly times: number
  /** How many answers there must be before each fault. Default: 20. */
  readonly answersBefore?: number
  readonly child?: Pick<ChildOptions<WriterMessage>, 'wrapper' | 'nodeArguments'>
}

/** How many answers show that the store works again. */
const recoveredAnswers = 20
const lingerMs = 100

/** A writer works, the fault begins, writes fail, the fault ends, the same process writes on. Then the store is compared with what it was told. */
export async function endure(fault: Fault, options: EndureOptions): Promise<Endured> {
  const { target, input, times, answersBefore = recoveredAnswers, child } = options
  const writer = startWriter({ ...input, target }, child)
  const violations: string[] = []
  let met = 0
  const answersFrom = async (count: number): Promise<boolean> => {
    const before = writer.ledger.answers
    return writer.until((ledger) => ledger.answers >= before + count)
  }
  for (let time = 0; time < times && violations.length === 0; time++) {
    if (!(await answersFrom(answersBefore))) violations.push('the writer did not get going')
    const failed = writer.ledger.failures().length
    await fault.begin(writer)
    if (await writer.until((ledger) => ledger.failures().length > failed)) met += 1
    await sleep(lingerMs)
    await fault.end(writer)
    if (!(await answersFrom(recoveredAnswers))) violations.push('the store did not work again after the cause was gone')
  }
  const { code, complaint } = await writer.stop()
  if (code !== 0) violations.push(`the writer ended with ${code}: ${complaint}`)
  const store = await openStore(target)
  violations.push(...(await checkLedger(store, writer.ledger)).violations)
  await store.close()
  const failures = writer.ledger.failures()
  violations.push(...checkFailures(failures))
  return { violations, met, counts: { acknowledged: writer.ledger.answers, ...countFailures(failures) } }
}
