import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

const guides = readdirSync(join(root, 'docs')).map((name) => join('docs', name))

describe.each(['README.md', ...guides].map((document) => [document, programsIn(document)] as const))(
  '%s',
  (document, programs) => {
    test.each(programs.map((code, index) => [index + 1, code] as const))(
      'program %i runs as it is written',
      async (index, code) => {
        const place = join(folder, `${document.replaceAll(/\W/g, '-')}-${index}`)
        rmSync(place, { recursive: true, force: true })
        mkdirSync(place, { recursive: true })
        writeFileSync(
          join(place, 'program.ts'),
          code.replaceAll(/from '(perdure[^']*)'/g, (_, name: string) => `from '${join(root, sources[name]!)}'`),
        )
        const { stderr } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'program.ts'], {
          cwd: place,
        })
        expect(stderr).toBe('')
      },
    )

    if (programs.length === 0) test('has no program to run', () => expect(programs).toEqual([]))
  },
)

test('the program of the README prints how it ended, also when it is run again', async () => {
  const place = join(folder, 'README-twice')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  const [code] = programsIn('README.md')
  writeFileSync(
    join(place, 'program.ts'),
    code!.replaceAll(/from '(perdure[^']*)'/g, (_, name: string) => `from '${join(root, sources[name]!)}'`),
  )
  for (const time of ['first', 'second']) {
    const { stdout } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'program.ts'], {
      cwd: place,
    })
    expect(`${time}: ${stdout}`).toBe(`${time}: You have your 5 EUR back.\n`)
  }
})

/** Blocks that import the package are whole programs; others are fragments. */
function programsIn(document: string): string[] {
  const text = readFileSync(join(root, document), 'utf8')
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]!)
  return blocks.filter((code) => /from 'perdure/.test(code))
}
