import { createCommitFunction } from './002-create-commit-function.ts'

/** See `StoredAttrs.idleSeq`. Nodes of an earlier version leave it behind, and then a message is planned on the log. */
export const idleSeq = (schema: string): string => `
  ALTER TABLE ${schema}.conversations ADD COLUMN idle_seq bigint NOT NULL DEFAULT 0;
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
