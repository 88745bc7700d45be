import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutants } from '../mutants/mutants.ts'

const root = join(import.meta.dirname, '..', '..')

test('each planted bug still has its one place in the source, and its tests are where it says', () => {
  const astray = mutants.flatMap(({ name, edits, killedBy }) => [
    ...edits.filter(({ file, find }) => read(file).split(find).length !== 2).map(({ file }) => `${name}: ${file}`),
    ...killedBy.filter(({ file }) => read(file) === '').map(({ file }) => `${name}: ${file}`),
  ])
  expect(astray).toEqual([])
})

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
