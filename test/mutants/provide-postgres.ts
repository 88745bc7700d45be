import type { TestProject } from 'vitest/node'

/** One server serves all mutants, each with a database of its own. */
export function setup(project: TestProject): void {
  const url = process.env['PERDURE_MUTANTS_POSTGRES']
  if (url) project.provide('postgresUrl', url)
}
