#!/usr/bin/env node
import { unsupportedNode } from './unsupported-node.ts'

const problem = unsupportedNode(process.versions.node)
if (problem === null) {
  // Not before: an older Node cannot even load it.
  const { runCli } = await import('./run-cli.ts')
  await runCli(process.argv.slice(2))
} else {
  console.error(problem)
  process.exitCode = 1
}
