import type { Reporter } from 'vitest/node'
import { namedRows, rowsNotShown } from '../contract/named-tests.ts'

/**
 * After a whole run, each test that `docs/coming-from.md` names must have run and passed. A run of some files, of some titles or on some stores is not judged.
 */
export function namedTestsReporter({ argv, env, write }: Surroundings = ofProcess()): Reporter {
  return {
    onTestRunEnd(modules) {
      if (!isWholeRun(argv, env)) return
      const ran = modules.flatMap((module) =>
        [...module.children.allTests()].map((test) => ({
          file: module.relativeModuleId,
          title: test.name,
          state: test.result().state,
        })),
      )
      const missing = rowsNotShown(namedRows(), ran)
      if (missing.length === 0) return
      write(`\ndocs/coming-from.md names tests that did not run and pass:\n${missing.join('\n')}\n`)
      process.exitCode = 1
    },
  }
}

type Surroundings = {
  readonly argv: readonly string[]
  readonly env: { readonly [name: string]: string | undefined }
  write(text: string): void
}

function ofProcess(): Surroundings {
  return { argv: process.argv.slice(2), env: process.env, write: (text) => void process.stdout.write(text) }
}

/** `vitest run` and nothing that leaves tests out: a failed test may be repeated, as CI does. */
export function isWholeRun(argv: readonly string[], env: { readonly [name: string]: string | undefined }): boolean {
  return argv.every((argument) => argument === 'run' || /^--retry=\d+$/.test(argument)) && !env['STORES']
}
