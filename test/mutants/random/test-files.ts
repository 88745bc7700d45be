import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Tests of what is not the core, and tests that start processes of their own, in which nothing can be recorded. */
const leftOut = [
  'test/tooling',
  'test/mutants',
  'test/examples',
  'test/bench',
  'test/browser',
  'test/cli',
  'test/faults',
  'test/setup',
  'test/studio',
  'test/house',
  'src/cli',
  'src/react',
]

/** The test files that are asked about bugs of the core, as paths from the root of a tree. */
export async function testFiles(tree: string): Promise<string[]> {
  const found: string[] = []
  for (const folder of ['src', 'test'])
    for (const path of await readdir(join(tree, folder), { recursive: true }))
      if (path.endsWith('.test.ts')) found.push(`${folder}/${path}`)
  return found.filter((path) => !leftOut.some((folder) => path.startsWith(`${folder}/`))).sort()
}
