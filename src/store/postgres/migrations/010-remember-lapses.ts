import { createCommitFunction } from './002-create-commit-function.ts'

/**
 * When each lease was claimed, and the epochs of those before it that lapsed. Both count for nothing where there is no holder. Nodes of an earlier version
 * leave them as they are: what they claim is not counted, or, by a claim before it, too long ago. A quarantine is a lease to them.
 */
export const rememberLapses = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN claimed_at bigint, ADD COLUMN lapsed bigint[];
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
