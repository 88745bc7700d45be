import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const everything = ['src/**/*.test.ts', 'studio/**/*.test.ts', 'test/**/*.test.ts']

/** What a runtime, a server or a store does, over all stores. */
const stories = testsIn('conformance', 'flows', 'hostile', 'reference-store', 'server', 'stories')

/** The studio in a real browser. */
const studio = testsIn('studio')

/** Pages, command lines, fault programs, simulations, examples, and the checks of the repository itself. */
const programs = testsIn(
  'browser',
  'cli',
  'examples',
  'faults',
  'mutants',
  'processes',
  'simulator',
  'tooling',
  'upkeep',
)

export type TestProject = {
  readonly name: string
  readonly include: string[]
  readonly exclude: string[]
  /** Whether each file gets a process of its own. Otherwise files share a process and the modules in it. */
  readonly isolate: boolean
  /** Timeouts. Default: those of all projects. */
  readonly testTimeout?: number
  readonly hookTimeout?: number
  readonly expect?: { readonly poll: { readonly timeout: number } }
  /** Run before the tests of this project, if there are any to run. */
  readonly globalSetup?: string[]
}

/**
 * The tests in four groups, as in `npx vitest run --project unit`. A file of `unit` or `stories` that replaces what others share runs with
 * the programs.
 */
export function testProjects(leftOut: readonly string[] = []): TestProject[] {
  const alone = globSync(everything, { cwd: root }).filter((file) =>
    replacesShared(readFileSync(join(root, file), 'utf8')),
  )
  return [
    {
      name: 'unit',
      include: everything,
      exclude: [...stories, ...studio, ...programs, ...alone, ...leftOut],
      isolate: false,
    },
    { name: 'stories', include: stories, exclude: [...alone, ...leftOut], isolate: false },
    // One process, so that its files share a browser.
    {
      name: 'studio',
      include: studio,
      exclude: [...alone, ...leftOut],
      isolate: false,
      globalSetup: ['test/setup/studio.ts'],
      // Many steps of a browser, on a machine that may do much else. What never comes is reported by the wait for it, which is shorter.
      testTimeout: 300_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
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
