import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningPostgres, startPostgres } from '../../setup/start-postgres.ts'
import { TestRunner } from './test-runner.ts'

const tree = join(import.meta.dirname, '..', '..', '..')
const limits = { testMs: 5_000, unitMs: 60_000 }
const file = 'src/double.test.ts'
let root = ''
let runner: TestRunner
let server: RunningPostgres

const source = (body: string) => `export function double(n: number): number {\n  ${body}\n}\n`
const tests = `
import { describe, expect, test } from 'vitest'
import { double } from './double.ts'
describe('a number', () => {
  describe('that is (small)', () => {
    describe('', () => test('is even', () => expect(double(3) % 2).toBe(0)))
    test('is doubled', () => expect(double(2)).toBe(4))
    test('is doubled > twice', () => expect(double(double(2))).toBe(8))
  })
})
test('nothing stays nothing', () => expect(double(0)).toBe(0))
`

async function write(body: string): Promise<void> {
  await writeFile(join(root, 'src', 'double.ts'), source(body))
  runner.changed('src/double.ts')
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-run-'))
  await mkdir(join(root, 'src'))
  await symlink(join(tree, 'node_modules'), join(root, 'node_modules'))
  await symlink(join(tree, 'test'), join(root, 'test'))
  await writeFile(join(root, 'package.json'), '{"type":"module"}')
  await writeFile(join(root, file), tests)
  server = await startPostgres({ settings: { fsync: 'off' } })
  runner = new TestRunner({ root, records: false }, server.url)
})

afterAll(async () => {
  runner.close()
  await server.destroy()
  await rm(root, { recursive: true })
})

test('a warm process runs the tests that are named, whatever stands around them, over sources as they are now (postgres)', async () => {
  await write('return 2 * n')
  expect(await runner.run({ file }, limits)).toMatchObject({ result: 'passed', ran: 4 })
  const names = ['a number that is (small) is doubled']
  expect(await runner.run({ file, names }, limits)).toMatchObject({ result: 'passed', ran: 1 })
  expect(await runner.run({ file, names: ['a number that is (small) is even'] }, limits)).toMatchObject({ ran: 1 })
  await write('return n + 1')
  const found = { result: 'failed', test: names[0], ran: 0, isAssertion: true }
  expect(await runner.run({ file, names }, limits)).toMatchObject(found)
  expect(await runner.run({ file, names: ['nothing stays nothing'] }, limits)).toMatchObject({ result: 'failed' })
  await write('return 2 * n')
  expect(await runner.run({ file, names }, limits)).toMatchObject({ result: 'passed', ran: 1 })
})

test('each run has an empty database of its own, whatever the one before has left (postgres)', async () => {
  await write('return 2 * n')
  const using = `
import pg from 'pg'
import { expect, inject, test } from 'vitest'
test('uses it', async () => {
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  await client.query('CREATE TABLE left_behind (n int)')
  await client.query('CREATE DATABASE other')
  await client.end()
  expect(1).toBe(1)
})
`
  const other = 'src/using.test.ts'
  await writeFile(join(root, other), using)
  for (let time = 0; time < 2; time++)
    expect(await runner.run({ file: other }, limits)).toMatchObject({ result: 'passed' })
  expect(await runner.run({ file }, limits)).toMatchObject({ result: 'passed', ran: 4 })
  expect(await runner.run({ file: other }, limits)).toMatchObject({ result: 'passed' })
})

test('tests that are not there, and a file that cannot be loaded, are no failing tests (postgres)', async () => {
  await write('return 2 * n')
  expect(await runner.run({ file, names: ['nothing of the kind'] }, limits)).toMatchObject({ result: 'died', ran: 0 })
  await write('return 2 * n\n}\nthrow new Error("not loaded")\n{')
  expect(await runner.run({ file }, limits)).toMatchObject({ result: 'died', test: null })
})

test('what does not end is ended, and what ends the process is told from a failing test; the next run goes on (postgres)', async () => {
  await write('for (;;);')
  expect(await runner.run({ file }, { ...limits, unitMs: 4_000 })).toMatchObject({ result: 'took too long' })
  await write('process.kill(process.pid, "SIGKILL"); return n')
  expect(await runner.run({ file }, limits)).toMatchObject({ result: 'died' })
  await write('return 2 * n')
  expect(await runner.run({ file }, limits)).toMatchObject({ result: 'passed', ran: 4 })
})
