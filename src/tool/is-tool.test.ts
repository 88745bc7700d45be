import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from './define-tool.ts'
import { isTool } from './is-tool.ts'

const attributes = { name: 'find', description: 'Find', input: z.object({}), run: () => 1 }

test('a tool is what defineTool made, and not what was passed to it', () => {
  expect(isTool(defineTool(attributes))).toBe(true)
  for (const value of [attributes, null, undefined, 'find', { ...defineTool(attributes), providerTool: undefined }])
    expect(isTool(value)).toBe(false)
})

test.each<[object, string]>([
  [{ prompt: 7 }, "'prompt' must be a string or a function"],
  [{ strict: 'yes' }, "'strict' must be true or false"],
  [{ args: 'x' }, "'args' must be an object"],
  [{ args: null }, "'args' must be an object"],
  [{ timeoutMs: 0 }, "'timeoutMs' must be a whole number of milliseconds from 1 on, not 0"],
  [{ expiresInMs: 3_155_760_000_001 }, "'expiresInMs' must be a whole number of milliseconds"],
  [{ timeoutMs: 1.5 }, "'timeoutMs'"],
  [{ retention: { mode: 'age', value: -1 } }, "'retention' must be 'never' or"],
  [{ retention: { mode: 'size', value: 1 } }, "'retention' must be 'never' or"],
  [{ approval: 'sometimes' }, "'approval' must be 'auto', 'required' or a function, not 'sometimes'"],
  [{ ifInterrupted: 'ignore' }, "'ifInterrupted' must be one of report, rerun, ask, not 'ignore'"],
  [{ run: undefined }, "'run' is needed for executor 'server'"],
])('a tool with %o is refused', (wrong, problem) => {
  expect(() => defineTool({ ...attributes, ...wrong } as never)).toThrow(problem)
})

test.each<object>([
  { timeoutMs: 1, expiresInMs: 3_155_760_000_000 },
  { retention: { mode: 'count', value: 0 } },
  { retention: 'never' },
  { approval: () => true, strict: false, prompt: 'Sure?' },
])('a tool with %o is made', (right) => {
  expect(isTool(defineTool({ ...attributes, ...right } as never))).toBe(true)
})
