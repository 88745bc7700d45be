import type { RemoteRecord } from '../../client/answers.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { commandLine } from './command-line.ts'

/** What to say beside a list about each of its conversations that is damaged in the store. */
export function damagedNotes(records: readonly Pick<RemoteRecord, 'id' | 'unreadable'>[], args: TargetArgs): string[] {
  // The doctor looks after whole stores, as nobody.
  const { tenant: _, who: __, ...place } = args
  return records.flatMap(({ id, unreadable }) =>
    unreadable
      ? [`'${id}' is damaged: its ${unreadable.join(' and ')} cannot be read. Run: ${commandLine(['doctor'], place)}`]
      : [],
  )
}
