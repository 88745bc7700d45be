import { expect, test } from 'vitest'
import { unsupportedNode } from './unsupported-node.ts'

test.each([
  ['20.20.2', false],
  ['22.12.0', false],
  ['22.13.0', true],
  ['23.0.0', true],
  ['24.21.0', true],
])('Node %s: %s', (version, isFine) => {
  const problem = unsupportedNode(version)
  if (isFine) expect(problem).toBe(null)
  else
    expect(problem).toBe(
      `perdure needs Node 22.13 or newer, and this is ${version}. Install a newer one from https://nodejs.org.`,
    )
})
