import { encode } from '../log/codec.ts'
import { decoded } from '../store/conversation-row.ts'
import type { StoredCall } from '../store/driver.ts'
import { loggedError } from '../store/ended-call.ts'
import { type ExpectedCall, textDigest } from './expected-calls.ts'

/** How a row differs from what the log says; null when it does not. A deadline may have been moved, so it is told apart. */
export function compareCall(
  row: StoredCall,
  expected: ExpectedCall,
): { readonly what: 'row' | 'deadline'; readonly how: string } | null {
  const differing = (['executor', 'round', 'kind', 'resolvedAt', 'resolvedSeq'] as const).filter(
    (name) => row[name] !== expected[name],
  )
  const names: string[] = [...differing]
  const isErrored = row.status === 'errored' && expected.mayBeErrored
  if (row.status !== expected.status && !isErrored) names.push('status')
  if (!expected.suspendedAt.includes(row.createdAt)) names.push('createdAt')
  const isSameText = textDigest(row) === expected.digest || (isErrored && textDigest(asLogged(row)) === expected.digest)
  if (!isSameText) names.push('name, args, prompt or result')
  if (names.length > 0) return { what: 'row', how: `differs from the log in ${names.join(', ')}` }
  if (row.expiresAt === expected.expiresAt) return null
  return {
    what: 'deadline',
    how: `expires at ${named(row.expiresAt)}; when it began to wait it was to expire at ${named(expected.expiresAt)}`,
  }
}

/** The row of a call that was ended as an error has what the caller gave; the log has what it was made of. */
function asLogged(row: StoredCall): StoredCall {
  const given = row.result === null ? undefined : decoded(row.result)
  return given === undefined ? row : { ...row, result: encode(loggedError(row.kind, given)) }
}

function named(at: number | null): string {
  return at === null ? 'no time' : String(at)
}
