import { createCommitFunction } from './002-create-commit-function.ts'

/** The function takes `p_expected_agent`. It has a default, so that nodes of an earlier version go on while others are being replaced. */
export const expectAgents = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
