import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const file = 'examples/snapshots-in-your-own-table.ts'

test('the example keeps snapshots in a table of its own, one organisation apart from the other', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toEqual([
    'acme:  You like tea.',
    'other: I do not know you yet.',
    'kept for acme: helper, on_shutdown',
    'kept for other: helper, on_shutdown',
  ])
  expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(100)
})
