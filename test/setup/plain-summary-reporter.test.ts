import { expect, test } from 'vitest'
import { summaryLines, type ToldTest } from './plain-summary-reporter.ts'

const passed = (file: string, name: string): ToldTest => ({ state: 'passed', file, name })

test('a run ends with how many tests ran on which store, and how many passed and failed', () => {
  const tests: ToldTest[] = [
    passed('test/stories/approval.test.ts', 'an approval (memory) > is given once'),
    passed('test/stories/approval.test.ts', 'an approval (sqlite) > is given once'),
    passed('src/store/sqlite/group-commit.test.ts', 'commits share a sync'),
    { state: 'failed', file: 'test/stories/approval.test.ts', name: 'an approval (postgres) > is given once' },
    passed(
      'test/reference-store/found-by-random-commands.test.ts',
      'found by random commands (memory) > a lease that is lost is told of',
    ),
    passed('src/log/codec.test.ts', 'values come back'),
    passed('src/prompt/context-memory.test.ts', 'a memory goes on'),
    passed('test/tooling/documents.test.ts', 'the links of docs/api/perdure-sqlite.md lead somewhere'),
    { state: 'skipped', file: 'test/stories/approval.test.ts', name: 'an approval (memory) > survives' },
  ]
  expect(summaryLines(tests, 0)).toEqual([
    'tests per store: memory 2, sqlite 2, postgres 1; 3 others need no store, or do not name theirs',
    'tests not run: 1',
    '7 passed, 1 failed',
  ])
})

test('a file that cannot be loaded counts as failed', () => {
  expect(summaryLines([passed('src/log/codec.test.ts', 'values come back')], 2).at(-1)).toBe('1 passed, 2 failed')
})

test('a test that passed only when it was repeated is named', () => {
  const flaky = { ...passed('test/stories/approval.test.ts', 'an approval (memory) > is given once'), isFlaky: true }
  expect(summaryLines([flaky, passed('src/log/codec.test.ts', 'values come back')], 0)).toEqual([
    'tests that passed only when repeated: 1',
    '  test/stories/approval.test.ts > an approval (memory) > is given once',
    'tests per store: memory 1, sqlite 0, postgres 0; 1 others need no store, or do not name theirs',
    'tests not run: 0',
    '2 passed, 0 failed',
  ])
})
