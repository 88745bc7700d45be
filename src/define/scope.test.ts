import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// A registration holds for a whole program, so these are programs of their own.

const repository = resolve(import.meta.dirname, '../..')
let folder = ''

vi.setConfig({ testTimeout: 60_000 })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-register-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true })
})

const registration = "declare module 'perdure' { interface Register { scope: { readonly userId: number } } }"

test('the scope has the type that the app has registered', () => {
  const app = `
    import { createTurn } from 'perdure'
    ${registration}
    const id: number = createTurn({ scope: { userId: 7 } }).scope.userId
    // @ts-expect-error the type of the app has no tenant
    createTurn({ scope: { userId: 7 } }).scope.tenant
    export { id }`
  expect(problemsOf(app)).toBe('')
})

test('the scope has the built-in type when nothing is registered', () => {
  const app = `
    import { createScope, createTurn } from 'perdure'
    export const user: string | undefined = createTurn({ scope: createScope({ user: 'ada' }) }).scope.user`
  expect(problemsOf(app)).toBe('')
})

test('a scope that is not the registered one does not compile', () => {
  const app = `
    import { createTurn } from 'perdure'
    ${registration}
    createTurn({ scope: { userId: 'seven' } })`
  expect(problemsOf(app)).toContain("Type 'string' is not assignable to type 'number'")
})

function problemsOf(app: string): string {
  const source = join(repository, 'src')
  const files = {
    'package.json': '{ "type": "module" }',
    'app.ts': app,
    'perdure.ts': `
      export type { Register, Scope } from '${source}/define/scope.ts'
      export { createScope } from '${source}/define/scope.ts'
      export { createTurn } from '${source}/define/turn.ts'`,
    'tsconfig.json': JSON.stringify({
      extends: join(repository, 'tsconfig.json'),
      compilerOptions: {
        paths: { perdure: ['./perdure.ts'] },
        rewriteRelativeImportExtensions: false,
        typeRoots: [join(repository, 'node_modules/@types')],
      },
      include: ['app.ts'],
    }),
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  try {
    execFileSync(process.execPath, [join(repository, 'node_modules/typescript/bin/tsc'), '-p', folder])
    return ''
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout)
  }
}
