import { expect, test } from 'vitest'
import { mcpTools } from './mcp-tools.ts'

const server = { url: 'https://tools.example/mcp' }

test.each([
  [{ defaults: { approval: 'never' } }, "'defaults': 'approval' must be 'auto' or 'required'"],
  [{ defaults: { ifInterrupted: 'again' } }, "'defaults': 'ifInterrupted' must be one of report, rerun, ask"],
  [{ defaults: { timeoutMs: 0 } }, "'defaults': 'timeoutMs'"],
  [{ defaults: { retention: 'sometimes' } }, "'defaults': 'retention'"],
  [{ tools: { pay: { retention: { mode: 'age', value: -1 } } } }, "'tools.pay': 'retention"],
  [{ tools: { pay: { approve: true } } }, "'tools.pay': unknown key 'approve'"],
  [{ tools: null }, "'tools' must be an object"],
])('settings of tools that cannot hold are refused at once: %j', (options, problem) => {
  expect(() => mcpTools(server, { name: 'shop', ...options } as never)).toThrow(problem)
})

test('settings that hold are taken, and a tool may be left out', () => {
  const settings = { approval: 'required', ifInterrupted: 'ask', retention: { mode: 'count', value: 3 } } as const
  expect(() =>
    mcpTools(server, { name: 'shop', defaults: settings, tools: { pay: settings, beg: false } }),
  ).not.toThrow()
})
