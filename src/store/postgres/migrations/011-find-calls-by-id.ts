import { createCommitFunction } from './002-create-commit-function.ts'

/** The function looks up each call row by its primary key. It takes what it took before. */
export const findCallsById = (schema: string): string => `
  DROP FUNCTION ${schema}.commit_changes;
  ${createCommitFunction(schema)}
`
