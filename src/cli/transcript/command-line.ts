import type { RemoteRecord } from '../../client/pages.ts'
import type { TargetArgs } from '../target/target-args.ts'

const targetOptions = ['url', 'token-file', 'store', 'config', 'tenant', 'who'] as const

/** A line to type next, on the same target as this command. */
export function commandLine(words: readonly string[], args: TargetArgs): string {
  const target = targetOptions.flatMap((name) => (args[name] === undefined ? [] : [`--${name}`, args[name]]))
  return [perdureCommand(), ...[...words, ...target].map(quoted)].join(' ')
}

/** For a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w./:@=+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** How to run this program again: in a clone its script, elsewhere npx, which finds a project's package and a global one. */
export function perdureCommand(): string {
  return isFromSource() ? 'npm run -s perdure --' : 'npx perdure'
}

export function isFromSource(): boolean {
  return import.meta.url.endsWith('.ts')
}

/** The end of a call's id. Ids begin with the time, so their ends differ. */
export function shortCallId(callId: string): string {
  return callId.slice(-8)
}

type Listed = Pick<RemoteRecord, 'id' | 'unreadable' | 'quarantinedAt' | 'problem'>

/** A note for each conversation of a list that is damaged in the store, quarantined, or waits for a scope. */
export function problemNotes(records: readonly Listed[], args: TargetArgs): string[] {
  // Maintenance commands have no --who.
  const { tenant, who: _, ...place } = args
  return records.flatMap(({ id, unreadable, quarantinedAt, problem }) => {
    if (unreadable) {
      const what = unreadable.join(' and ')
      return [`'${id}' is damaged: its ${what} cannot be read. Run: ${commandLine(['doctor'], place)}`]
    }
    if (problem?.code === 'scope_missing') {
      return [`'${id}' waits: the scope of its user cannot be restored. Correct restoreScope; it continues by itself`]
    }
    if (quarantinedAt === undefined) return []
    const release = commandLine(['unquarantine', id, ...(tenant === undefined ? [] : ['--tenant', tenant])], place)
    return [`'${id}' is quarantined: the processes that worked on it ended. Find out why, then run: ${release}`]
  })
}
