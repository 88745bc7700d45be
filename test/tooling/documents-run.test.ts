import { execFile } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, inject, test, vi } from 'vitest'

// Each program is a process of its own, and many run at once.
vi.setConfig({ testTimeout: 180_000 })

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, '.tmp', 'documents')
const run = promisify(execFile)

/** What a reader would import, and where it is before the package is built. */
const sources: Readonly<Record<string, string>> = {
  perdure: 'src/index.ts',
  'perdure/log': 'src/log.ts',
  'perdure/store': 'src/store.ts',
  'perdure/errors': 'src/errors.ts',
  'perdure/sqlite': 'src/store/sqlite/index.ts',
  'perdure/postgres': 'src/store/postgres/index.ts',
  'perdure/server': 'src/server/index.ts',
  'perdure/client': 'src/client/index.ts',
  'perdure/config': 'src/cli/config.ts',
  'perdure/extensions': 'src/extensions/index.ts',
  'perdure/mcp': 'src/mcp/index.ts',
  'perdure/openai-agents': 'src/openai-agents/index.ts',
  'perdure/telemetry': 'src/telemetry/index.ts',
  'perdure/upkeep': 'src/upkeep/index.ts',
  'perdure/testing': 'src/testing/index.ts',
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const guides = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))

describe.concurrent.each(['README.md', ...guides].map((document) => [document, programsIn(document)] as const))(
  '%s',
  (_, programs) => {
    test.each(programs.map((program, index) => [numberOf(program.code, index), program] as const))(
      'program %s runs as it is written, and prints what is written below it',
      async (_, { code, prints }) => {
        const stdout = await runIn(placeOf(code))
        if (prints !== null) expect(stdout).toBe(prints)
      },
    )

    if (programs.length === 0) test('has no program to run', () => expect(programs).toEqual([]))
  },
)

test('the programs of all documents are well typed', async () => {
  const programs = ['README.md', ...guides].flatMap((document) =>
    programsIn(document).map(
      ({ code }, index) => [`${document.replaceAll(/\W/g, '-')}-${index + 1}.ts`, code] as const,
    ),
  )
  // What a program declares of the package holds for whatever is compiled with it.
  const alone = programs.filter(([, code]) => code.includes('declare module'))
  const together = programs.filter((program) => !alone.includes(program))
  const problems = await Promise.all([together, ...alone.map((program) => [program])].map(typeProblems))
  expect(problems.join('')).toBe('')
})

const examples = globSync('examples/**/*.{ts,tsx}', { cwd: root, exclude: ['**/node_modules'] })
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n')

test.each(['README.md', ...guides])('%s has no code that is not run', (document) => {
  const text = readFileSync(join(root, document), 'utf8')
  // What belongs into a page or a framework (`tsx`) is run where the example is: see `test/examples`.
  for (const [, code] of text.matchAll(/```tsx\n(?:\/\/ \S+\.tsx?\n)?(.*?)\n```/gs)) expect(examples).toContain(code)
  expect([...text.matchAll(/```(?:ts|typescript|js|javascript)\n/g)].length).toBe(programsIn(document).length)
})

describe('the program of the README', () => {
  const { code } = programsIn('README.md')[0]!

  test('has at most 20 lines, and goes on in another process once its call is approved', async () => {
    expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    const place = placeOf(code)
    expect(await runIn(place)).toBe('I have asked for your refund. [waiting]\n')
    expect(await runIn(place)).toBe('I have asked for your refund. [waiting]\n')
    expect(await runIn(place, 'approve')).toBe('I have asked for your refund. It is paid. [completed]\n')
    expect(await runIn(place)).toBe('I have asked for your refund. It is paid. [completed]\n')
  })

  test('approves what waits in another conversation, too', async () => {
    const place = placeOf(code.replace('ticket-42', 'ticket-43'))
    expect(await runIn(place)).toBe('I have asked for your refund. [waiting]\n')
    writeFileSync(join(place, 'program.ts'), fromSources(code))
    expect(await runIn(place)).toBe('I have asked for your refund. [waiting]\n')
    expect(await runIn(place, 'approve')).toBe('I have asked for your refund. It is paid. [completed]\n')
    writeFileSync(join(place, 'program.ts'), fromSources(code.replace('ticket-42', 'ticket-43')))
    expect(await runIn(place)).toBe('I have asked for your refund. It is paid. [completed]\n')
  })
})

/** A folder with the program in it. */
function placeOf(code: string): string {
  mkdirSync(folder, { recursive: true })
  const place = mkdtempSync(join(folder, 'program-'))
  writeFileSync(join(place, 'program.ts'), fromSources(code))
  return place
}

/** With the store, if the program needs a server for it. */
function numberOf(code: string, index: number): string {
  return code.includes('DATABASE_URL') ? `${index + 1} (postgres)` : `${index + 1}`
}

function fromSources(code: string): string {
  return code.replaceAll(
    /(from|declare module) '(perdure[^']*)'/g,
    (_, keyword: string, name: string) => `${keyword} '${join(root, sources[name]!)}'`,
  )
}

async function typeProblems(programs: readonly (readonly [name: string, code: string])[]): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const place = mkdtempSync(join(folder, 'types-'))
  for (const [name, code] of programs) writeFileSync(join(place, name), fromSources(code))
  const compilerOptions = { noUnusedLocals: false, rewriteRelativeImportExtensions: false }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['.'] }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', place]).catch((error: { stdout: string }) => error)
  // The sources have a check of their own, and are not what a reader compiles.
  return stdout.replaceAll(/^src\/.*\n(?: .*\n)*/gm, '')
}

/** What the program prints. It must end by itself, and complain of nothing. */
async function runIn(cwd: string, ...args: string[]): Promise<string> {
  const flags = ['--disable-warning=ExperimentalWarning']
  const env = { ...process.env, DATABASE_URL: inject('postgresUrl') }
  const { stdout, stderr } = await run(process.execPath, [...flags, 'program.ts', ...args], { cwd, env })
  expect(stderr).toBe('')
  return stdout
}

/** Each block of TypeScript is a whole program. A block of text right below says what it prints. */
function programsIn(document: string): { code: string; prints: string | null }[] {
  const text = readFileSync(join(root, document), 'utf8')
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```(?:\n\n```text\n([\s\S]*?)^```)?/gm)]
  return blocks.map(([, code, prints]) => ({ code: code!, prints: prints ?? null }))
}
