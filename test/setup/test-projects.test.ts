import { globSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { replacesShared, testProjects } from './test-projects.ts'

const root = join(import.meta.dirname, '..', '..')

test('each test file belongs to exactly one project', () => {
  const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  const projects = testProjects()
  const projectsOf = (file: string) =>
    projects.filter(({ include, exclude }) => isAny(file, include) && !isAny(file, exclude)).map(({ name }) => name)
  expect(files.length).toBeGreaterThan(400)
  expect(files.filter((file) => projectsOf(file).length !== 1)).toEqual([])
  expect(projectsOf('src/log/codec.test.ts')).toEqual(['unit'])
  expect(projectsOf('test/stories/approval.test.ts')).toEqual(['stories'])
  expect(projectsOf('test/faults/race.test.ts')).toEqual(['programs'])
})

// In two parts, so that this file does not count as one of them.
test.each([
  `vi.${'mock'}('../log/fold-events.ts', { spy: true })`,
  `  vi.${'stubGlobal'}('setTimeout', work)`,
  `  process.${'env'}['STORY_API_KEY'] = value`,
  `// @${'vitest'}-environment happy-dom`,
])('a file with "%s" gets a process of its own', (line) => {
  expect(replacesShared(`const before = 1\n${line}\n`)).toBe(true)
})

test.each(["vi.spyOn(Date, 'now')", "expect(process.env['HOME']).toBe(home)"])('a file with "%s" does not', (line) => {
  expect(replacesShared(line)).toBe(false)
})

function isAny(file: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(file, pattern))
}
