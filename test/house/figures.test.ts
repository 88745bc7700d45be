import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { countLines } from './count-lines.ts'
import { executedFiles } from './executed-files.ts'
import { figuresOf, missedTargets, type Row, rowsOf } from './figures.ts'
import { vagueWordsIn } from './plain-words.ts'

test('lines without comments and blanks leave out what is neither, and nothing else', () => {
  const text = [
    '/** What it is.',
    ' *',
    ' */',
    'export const a = 1 // one',
    '',
    "const url = 'http://localhost' /* a",
    '   comment */ + `',
    '// in a template',
    '`',
    '// the end',
    '',
  ].join('\n')
  expect(countLines({ path: 'src/a.ts', text })).toEqual({ lines: 10, code: 5 })
})

test('an empty file has no lines, and a newline at the end begins none', () => {
  expect(countLines({ path: 'src/a.ts', text: '' })).toEqual({ lines: 0, code: 0 })
  expect(countLines({ path: 'src/a.ts', text: 'a()\n' })).toEqual({ lines: 1, code: 1 })
  expect(countLines({ path: 'src/a.ts', text: 'a()\nb()' })).toEqual({ lines: 2, code: 2 })
})

test('vague words are found in any case and across lines of a comment, and not inside of others', () => {
  const text = '/**\n * Whoever asks is to\n * be told.\n */\n// Nobody, somebody\nconst nobodyElse = isToBe\n'
  expect(vagueWordsIn({ path: 'src/a.ts', text })).toEqual([
    { path: 'src/a.ts', line: 2, word: 'whoever' },
    { path: 'src/a.ts', line: 2, word: 'is to be' },
    { path: 'src/a.ts', line: 5, word: 'nobody' },
    { path: 'src/a.ts', line: 5, word: 'somebody' },
  ])
})

test('a file is executed when one of its functions is called, not when it is loaded', () => {
  const whole = (count: number) => ({ functionName: '', ranges: [{ startOffset: 0, endOffset: 90, count }] })
  const inner = (count: number) => ({ functionName: '', ranges: [{ startOffset: 20, endOffset: 40, count }] })
  const script = (url: string, functions: ReturnType<typeof whole>[]) => ({
    scriptId: url,
    url,
    functions: functions.map((covered) => ({ ...covered, isBlockCoverage: false })),
  })
  const coverage = [
    script('file:///repository/src/log/loaded.ts', [whole(1), inner(0)]),
    script('file:///repository/src/log/called.ts', [inner(2)]),
    script('file:///repository/src/log/called.test.ts', [inner(2)]),
    script('file:///repository/src/testing/scripted-model.ts', [inner(2)]),
    script('file:///repository/test/house/run.ts', [inner(2)]),
    script('node:fs', [inner(2)]),
  ]
  expect(executedFiles(coverage, '/repository')).toEqual(['src/log/called.ts'])
})

test('figures stand beside their targets, and those over them are missed', () => {
  const figures = figuresOf(
    [
      { path: 'src/index.ts', text: "export { a } from './log/a.ts'\n" },
      { path: 'src/log/a.ts', text: `export const a = 1\n${'// why\n'.repeat(30)}` },
    ],
    [],
    { inProcess: ['src/log/a.ts'], overHttp: [] },
  )
  expect(figures).toMatchObject({
    folders: 2,
    files: 2,
    lines: 32,
    codeLines: 2,
    shortFiles: ['src/index.ts'],
    oneImporter: { 'src/log/a.ts': 'src/index.ts' },
    chain: ['src/index.ts', 'src/log/a.ts'],
    folderCycles: [],
  })
  expect(missedTargets(rowsOf(figures))).toEqual([])
  expect(missedTargets(rowsOf({ ...figures, folderCycles: [['src/a', 'src/b']] }))).toEqual([
    { name: 'cycles between folders', value: 1, atMost: 0 },
  ])
})

test('the program measures these sources, and fails with --strict when a target is missed', () => {
  const program = ['test/house/run.ts', '--json', '--strict']
  const { status, stdout } = spawnSync(process.execPath, program, { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 })
  const { rows, turnFiles, httpTurnFiles } = JSON.parse(stdout)
  expect(turnFiles).toEqual(expect.arrayContaining(['src/log/next-step.ts', 'src/log/settle.ts']))
  expect(httpTurnFiles.filter((file: string) => file.startsWith('src/server/'))).not.toEqual([])
  expect(turnFiles.filter((file: string) => file.startsWith('src/server/'))).toEqual([])
  expect(rows.every(({ value }: Row) => Number.isInteger(value))).toBe(true)
  expect(status).toBe(missedTargets(rows).length > 0 ? 1 : 0)
})
