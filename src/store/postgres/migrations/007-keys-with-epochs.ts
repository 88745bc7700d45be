import { createCommitFunction } from './002-create-commit-function.ts'

/**
 * A commit that took the lease can be repeated with the same answer: its key is kept with the epoch it got. Nodes of an earlier version leave it null, and
 * their repeats bring no lease, as before.
 */
export const keysWithEpochs = (schema: string): string => `
  ALTER TABLE ${schema}.commit_keys ADD COLUMN epoch bigint;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
