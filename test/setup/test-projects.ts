import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const everything = ['src/**/*.test.ts', 'test/**/*.test.ts']

/** What a runtime, a server or a store does, over all stores. */
const stories = testsIn('conformance', 'flows', 'hostile', 'reference-store', 'server', 'stories')

/** Command lines, fault programs, simulations, examples, and the checks of the repository itself. */
const programs = testsIn('cli', 'examples', 'faults', 'mutants', 'processes', 'simulator', 'tooling', 'upkeep')

export type TestProject = {
  readonly name: string
  readonly include: string[]
  readonly exclude: string[]
  /** Whether each file gets a process of its own. Otherwise files share a process and the modules in it. */
  readonly isolate: boolean
}

/**
 * The tests in three groups, as in `npx vitest run --project unit`. A file of `unit` or `stories` that replaces what others share runs with
 * the programs.
 */
export function testProjects(leftOut: readonly string[] = []): TestProject[] {
  const alone = globSync(everything, { cwd: root }).filter((file) =>
    replacesShared(readFileSync(join(root, file), 'utf8')),
  )
  return [
    { name: 'unit', include: everything, exclude: [...stories, ...programs, ...alone, ...leftOut], isolate: false },
    { name: 'stories', include: stories, exclude: [...alone, ...leftOut], isolate: false },
    { name: 'programs', include: [...programs, ...alone], exclude: [...leftOut], isolate: true },
  ]
}

/** Whether a test replaces modules or globals, so that other files in its process would meet them. Spies do not count: they are taken back. */
export function replacesShared(text: string): boolean {
  return /\bvi\.(mock|doMock|resetModules|stubGlobal)\(|@vitest-environment|process\.env\[.*\] = /.test(text)
}

function testsIn(...folders: string[]): string[] {
  return folders.map((folder) => `test/${folder}/**/*.test.ts`)
}
