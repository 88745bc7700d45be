import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findConfig, loadConfig } from './load-config.ts'

let folder: string

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-config-')))
  mkdirSync(join(folder, 'a', 'b'), { recursive: true })
})

afterAll(() => rmSync(folder, { recursive: true }))

test('the nearest config above is found', () => {
  expect(findConfig(join(folder, 'a', 'b'))).toBe(null)
  writeFileSync(join(folder, 'perdure.config.js'), '')
  expect(findConfig(join(folder, 'a', 'b'))).toBe(join(folder, 'perdure.config.js'))
  writeFileSync(join(folder, 'a', 'perdure.config.ts'), '')
  expect(findConfig(join(folder, 'a', 'b'))).toBe(join(folder, 'a', 'perdure.config.ts'))
})

test('TypeScript on a Node that does not run it is told as such, and JavaScript is fine', async () => {
  const typescript = join(folder, 'one.config.ts')
  const javascript = join(folder, 'two.config.js')
  for (const file of [typescript, javascript]) writeFileSync(file, `export default { agents: [], store: 'a.db' }`)
  await expect(loadConfig(typescript, false)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /is TypeScript, which Node \S+ does not run\. Use Node 22\.18 or newer, or rename it/,
    ),
  })
  expect(await loadConfig(javascript, false)).toMatchObject({ file: javascript, config: { store: 'a.db' } })
})

test('paths in a config mean the same from everywhere', async () => {
  const file = join(folder, 'a', 'where.config.js')
  writeFileSync(file, `export default { agents: [], store: process.cwd() }`)
  const before = process.cwd()
  expect((await loadConfig(file)).config.store).toBe(join(folder, 'a'))
  expect(process.cwd()).toBe(before)
})

test('what is exported and no config is told as such', async () => {
  const file = join(folder, 'number.config.js')
  writeFileSync(file, 'export default 42')
  await expect(loadConfig(file)).rejects.toMatchObject({
    message: expect.stringMatching(/has a default export that is not an object\. Make defineConfig/),
  })
})
