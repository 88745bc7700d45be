import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, '.tmp', 'documents')
const run = promisify(execFile)

/** What a reader would import, and where it is before the package is built. */
const sources: Readonly<Record<string, string>> = {
  perdure: 'src/index.ts',
  'perdure/sqlite': 'src/stores/sqlite/index.ts',
  'perdure/postgres': 'src/stores/postgres/index.ts',
  'perdure/server': 'src/server/index.ts',
  'perdure/client': 'src/client/index.ts',
  'perdure/config': 'src/cli/config.ts',
  'perdure/testing': 'src/testing/index.ts',
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const guides = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))

describe.concurrent.each(['README.md', ...guides].map((document) => [document, programsIn(document)] as const))(
  '%s',
  (_, programs) => {
    test.each(programs.map((program, index) => [index + 1, program] as const))(
      'program %i runs as it is written, and prints what is written below it',
      async (_, { code, prints }) => {
        const stdout = await runIn(placeOf(code))
        if (prints !== null) expect(stdout).toBe(prints)
      },
    )

    if (programs.length === 0) test('has no program to run', () => expect(programs).toEqual([]))
  },
)

test('the programs of all documents are well typed', async () => {
  mkdirSync(folder, { recursive: true })
  const place = mkdtempSync(join(folder, 'types-'))
  for (const document of ['README.md', ...guides]) {
    for (const [index, { code }] of programsIn(document).entries()) {
      writeFileSync(join(place, `${document.replaceAll(/\W/g, '-')}-${index + 1}.ts`), fromSources(code))
    }
  }
  writeFileSync(
    join(place, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false, rewriteRelativeImportExtensions: false },
      include: ['.'],
    }),
  )
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', place]).catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
})

describe('the programs of the README', () => {
  const [first, second] = programsIn('README.md').map(({ code }) => code)

  test('the first has at most 20 lines, and goes on in another process with what somebody answered', async () => {
    expect(first!.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    const place = placeOf(first!)
    expect(await runIn(place)).toBe('waiting\n')
    expect(await runIn(place)).toBe('waiting\n')
    expect(await runIn(place, 'yes')).toBe('You have your money back.\n')
    expect(await runIn(place)).toBe('You have your money back.\n')
  })

  test('the second prints how it ended, also when it is run again', async () => {
    const place = placeOf(second!)
    for (const _ of ['first', 'second']) expect(await runIn(place)).toBe('You have your 5 EUR back.\n')
  })
})

/** A folder with the program in it. */
function placeOf(code: string): string {
  mkdirSync(folder, { recursive: true })
  const place = mkdtempSync(join(folder, 'program-'))
  writeFileSync(join(place, 'program.ts'), fromSources(code))
  return place
}

function fromSources(code: string): string {
  return code.replaceAll(/from '(perdure[^']*)'/g, (_, name: string) => `from '${join(root, sources[name]!)}'`)
}

/** What the program prints. It must end by itself, and complain of nothing. */
async function runIn(cwd: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'program.ts', ...args],
    { cwd },
  )
  expect(stderr).toBe('')
  return stdout
}

/** Blocks that import the package are whole programs; others are fragments. A block of text right below says what is printed. */
function programsIn(document: string): { code: string; prints: string | null }[] {
  const text = readFileSync(join(root, document), 'utf8')
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g)]
  return blocks
    .map(([, code, prints]) => ({ code: code!, prints: prints ?? null }))
    .filter(({ code }) => /from 'perdure/.test(code))
}
