import type { StoredCall } from '../store/driver.ts'
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
  const isStatus = row.status === expected.status || (row.status === 'errored' && expected.mayBeErrored)
  if (!isStatus) names.push('status')
  if (!expected.suspendedAt.includes(row.createdAt)) names.push('createdAt')
  if (textDigest(row) !== expected.digest) names.push('name, args, prompt or result')
  if (names.length > 0) return { what: 'row', how: `differs from the log in ${names.join(', ')}` }
  if (row.expiresAt === expected.expiresAt) return null
  return { what: 'deadline', how: `has the deadline ${row.expiresAt}, the log says ${expected.expiresAt}` }
}
