import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from './define-tool.ts'
import { isTool } from './tool.ts'
import { toolProblems } from './tool-problems.ts'

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

test('everything that is wrong with a tool is told, in the order of what it has', () => {
  const wrong = {
    ...{ nonsense: 1, output: z.string(), name: 'a b', description: '', input: 7, approval: 'x', ifInterrupted: 'x' },
    ...{ timeoutMs: 0, expiresInMs: 0, retention: 7, prompt: 7, strict: 7 },
  }
  expect(toolProblems(wrong).map((problem) => problem.split(' (known')[0])).toMatchInlineSnapshot(`
    [
      "unknown key 'nonsense'",
      "'output' is not for executor 'server' but for human, client",
      "'name' must be 1 to 64 of a-z A-Z 0-9 _ -, because that is what all providers take",
      "'description' must tell the model what the tool is for",
      "'input' must be a Standard Schema or a JSON Schema",
      "'run' is needed for executor 'server'",
      "'approval' must be 'auto', 'required' or a function, not 'x'",
      "'ifInterrupted' must be one of report, rerun, ask, not 'x'",
      "'timeoutMs' must be a whole number of milliseconds from 1 on, not 0",
      "'expiresInMs' must be a whole number of milliseconds from 1 on, not 0",
      "'retention' must be 'never' or { mode: 'age' | 'count', value: a whole number }",
      "'prompt' must be a string or a function",
      "'strict' must be true or false",
    ]
  `)
  expect(toolProblems({ ...attributes, executor: 'human' })).toMatchInlineSnapshot(`
    [
      "'run' is not for executor 'human' but for server",
      "'output', the schema of the answer, is needed for executor 'human'",
    ]
  `)
  expect(toolProblems({ ...attributes, executor: 'agent', agent: 7 })).toMatchInlineSnapshot(`
    [
      "'run' is not for executor 'agent' but for server",
      "'agent', made by defineAgent, is needed for executor 'agent'",
    ]
  `)
  expect(toolProblems({ executor: 'provider', name: 'find', id: 'find' })).toMatchInlineSnapshot(`
    [
      "'id' must be '<provider>.<tool>'",
    ]
  `)
  expect(toolProblems({ executor: 'provider', name: 'find', id: 'a.find', args: {} })).toEqual([])
  expect(toolProblems({ executor: 'provider', name: 'x'.repeat(64), id: 'a.find' })).toEqual([])
  expect(toolProblems({ executor: 'provider', name: 'x'.repeat(65), id: 'a.find' })).toHaveLength(1)
  expect(toolProblems({ ...attributes, executor: 'robot' })).toMatchInlineSnapshot(`
    [
      "'executor' must be one of server, human, client, provider, agent, not 'robot'",
    ]
  `)
  for (const given of [null, 'find']) expect(toolProblems(given)).toEqual(['it must be an object'])
})
