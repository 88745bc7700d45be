import type { RemoteRecord } from '../../client/answers.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { commandLine } from './command-line.ts'

type Listed = Pick<RemoteRecord, 'id' | 'unreadable' | 'quarantinedAt'>

/** What to say beside a list about each of its conversations that is damaged in the store, or quarantined. */
export function problemNotes(records: readonly Listed[], args: TargetArgs): string[] {
  // The doctor looks after whole stores, as nobody.
  const { tenant, who: _, ...place } = args
  return records.flatMap(({ id, unreadable, quarantinedAt }) => {
    if (unreadable) {
      const what = unreadable.join(' and ')
      return [`'${id}' is damaged: its ${what} cannot be read. Run: ${commandLine(['doctor'], place)}`]
    }
    if (quarantinedAt === undefined) return []
    const release = commandLine(['unquarantine', id, ...(tenant === undefined ? [] : ['--tenant', tenant])], place)
    return [`'${id}' is quarantined: the processes that worked on it ended. Find out why, then run: ${release}`]
  })
}
