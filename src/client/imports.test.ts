import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Imports nothing itself, and runs wherever there is JavaScript. */
const parser = 'eventsource-parser'

test('the client is made of nothing but this package, a parser of events and the web platform', () => {
  const files = new Set<string>()
  const foreign: string[] = []
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    const code = readFileSync(file, 'utf8')
    if (/\b(Buffer|process|NodeJS)\.\w/.test(code)) foreign.push(`${file} uses Node`)
    for (const [statement, specifier] of code.matchAll(/^(?:import|export)\s[^;'"]*?from '([^']+)'/gm)) {
      if (isTypeOnly(statement)) continue
      if (specifier!.startsWith('.')) visit(join(dirname(file), specifier!))
      else if (specifier === parser) visit(fileURLToPath(import.meta.resolve(parser)))
      else foreign.push(`${file} imports ${specifier}`)
    }
  }
  visit('src/client/index.ts')
  expect(foreign).toEqual([])
  expect([...files]).toContain('src/view/growing-view.ts')
  expect([...files]).toContainEqual(expect.stringContaining(`node_modules/${parser}/`))
})

function isTypeOnly(statement: string): boolean {
  if (/^(import|export) type\s/.test(statement)) return true
  const names = /\{([^}]*)\}/.exec(statement)?.[1]
  return names?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type ')) ?? false
}
