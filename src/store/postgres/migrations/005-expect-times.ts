import { createCommitFunction } from './002-create-commit-function.ts'

/** The function takes `p_expected_at`. It has a default, so that nodes of an earlier version go on while others are being replaced. */
export const expectTimes = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
