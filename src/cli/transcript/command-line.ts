import { perdureCommand } from '../perdure-command.ts'
import type { TargetArgs } from '../target/target-args.ts'

const targetOptions = ['url', 'token-file', 'store', 'config', 'tenant', 'who'] as const

/** A line to type next, on the same target as this command. */
export function commandLine(words: readonly string[], args: TargetArgs): string {
  const target = targetOptions.flatMap((name) => (args[name] === undefined ? [] : [`--${name}`, args[name]]))
  return [perdureCommand(), ...[...words, ...target].map(quoted)].join(' ')
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./:@=+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
