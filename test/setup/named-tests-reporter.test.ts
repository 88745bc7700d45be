import { expect, test } from 'vitest'
import { isWholeRun, namedTestsReporter } from './named-tests-reporter.ts'

test.each([
  [['run'], {}, true],
  [['run', '--retry=1'], {}, true],
  [['run', '--retry=1', 'test/stories'], {}, false],
  [['run', '--shard=1/2'], {}, false],
  [['run', 'test/stories'], {}, false],
  [['run', '-t', 'a title'], {}, false],
  [['run'], { STORES: 'memory' }, false],
])('a run with %j and %j is whole: %s', (argv, env, isWhole) => {
  expect(isWholeRun(argv, env)).toBe(isWhole)
})

test('a whole run without the named tests fails, and a run of some files does not', async () => {
  const before = process.exitCode
  let written = ''
  const write = (text: string) => void (written += text)
  try {
    await namedTestsReporter({ argv: ['run', 'test/stories'], env: {}, write }).onTestRunEnd?.([], [], 'passed')
    expect([process.exitCode, written]).toEqual([before, ''])
    await namedTestsReporter({ argv: ['run'], env: {}, write }).onTestRunEnd?.([], [], 'passed')
    expect(process.exitCode).toBe(1)
    expect(written).toContain('append_event/2: src/store/postgres/postgres-store.test.ts: the first event has seq 1')
  } finally {
    process.exitCode = before
  }
})
