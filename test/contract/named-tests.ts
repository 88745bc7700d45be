import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** A row of `docs/coming-from.md`. */
export type NamedRow = {
  readonly document: string
  readonly name: string
  readonly file: string
  readonly title: string
}

/** The files that run the cases of the conformance suite, one for each store. */
const storeTests = ['memory', 'sqlite', 'postgres'].map((store) => `src/store/${store}/${store}-store.test.ts`)

/** Reads the tables. A line of a table that is not a row is returned with an empty title, so that it is reported. */
export function namedRows(): NamedRow[] {
  let document = ''
  const rows: NamedRow[] = []
  for (const line of readFileSync(join(root, 'docs', 'coming-from.md'), 'utf8').split('\n')) {
    if (line.startsWith('## ')) document = line.slice(3)
    if (!line.startsWith('| `')) continue
    const [, name = line, file = '', title = ''] = /^\| `(.+?)` \| .+ \| `([^`]+)`: (.+) \|$/.exec(line) ?? []
    rows.push({ document, name, file, title })
  }
  return rows
}

/** Where a row's test runs: in one file, or in those of all stores. */
export function filesOf({ file }: Pick<NamedRow, 'file'>): readonly string[] {
  return file === 'conformance' ? storeTests : [file]
}

/** The rows whose test did not run and pass, in any of the files that must run it. On some store it may be skipped: memory does not outlive a process. */
export function rowsNotShown(
  rows: readonly NamedRow[],
  ran: readonly { readonly file: string; readonly title: string; readonly state: string }[],
): string[] {
  const passed = new Set(ran.filter(({ state }) => state === 'passed').map(({ file, title }) => `${file}: ${title}`))
  const failed = new Set(
    ran.filter(({ state }) => state !== 'passed' && state !== 'skipped').map(({ file, title }) => `${file}: ${title}`),
  )
  return rows.flatMap((row) =>
    filesOf(row)
      .map((file) => `${file}: ${row.title}`)
      .filter((test) => !passed.has(test) || failed.has(test))
      .map((test) => `${row.name}: ${test}`),
  )
}
