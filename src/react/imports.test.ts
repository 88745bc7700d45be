import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

test('the hooks are made of nothing but this package, React and the web platform', () => {
  const files = new Set<string>()
  const foreign: string[] = []
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    const code = readFileSync(file, 'utf8')
    if (/\b(Buffer|process|NodeJS)\.\w/.test(code)) foreign.push(`${file} uses Node`)
    for (const [statement, specifier] of code.matchAll(/^(?:import|export)\s[^;'"]*?from '([^']+)'/gm)) {
      if (/^(import|export) type\s/.test(statement)) continue
      if (specifier!.startsWith('.')) visit(join(dirname(file), specifier!))
      else if (specifier !== 'react') foreign.push(`${file} imports ${specifier}`)
    }
  }
  visit('src/react/index.ts')
  expect(foreign).toEqual([])
  expect([...files]).toContain('src/react/conversation-store.ts')
})
