import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test, vi } from 'vitest'

// A registration holds for a whole program, so this is a program of its own.

vi.setConfig({ testTimeout: 60_000 })

const repository = resolve(import.meta.dirname, '../..')

const app = `
  import { createRuntime, defineAgent, defineTool, memoryStore, type LanguageModel } from 'perdure'

  type AppScope = { readonly userId: number; readonly company: string }
  declare module 'perdure' { interface Register { scope: AppScope } }
  declare const model: LanguageModel

  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: { type: 'object' },
    approval: (_, turn) => turn.scope.userId > 1,
    run: (_, turn): number => turn.scope.userId,
  })
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'till', model, tools: [pay], instructions: (turn) => turn.scope.company })],
    store: memoryStore(),
    tenant: (scope) => scope.company,
    who: (scope) => String(scope.userId),
    restoreScope: async (company, who) => ({ company, userId: Number(who) }),
  })
  runtime.as({ userId: 7, company: 'acme' }).conversation('c1', { agent: 'till' })
  // @ts-expect-error not the app's scope
  runtime.as({ user: 'ann' })
  // @ts-expect-error not the app's scope
  createRuntime({ agents: [], store: memoryStore(), restoreScope: (tenant, who) => ({ tenant, who }) })
  // @ts-expect-error the app's scope has no tenant
  createRuntime({ agents: [], store: memoryStore(), tenant: (scope) => scope.tenant })
`

test('the scope an app has registered is what tools, agents and the runtime are given', () => {
  expect(problemsOf(app)).toBe('')
})

function problemsOf(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-scope-'))
  const modules = join(repository, 'node_modules')
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: {
      paths: { perdure: [join(repository, 'src/index.ts')] },
      rewriteRelativeImportExtensions: false,
      typeRoots: [join(modules, '@types')],
    },
    include: ['app.ts'],
  }
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'app.ts'), source)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    execFileSync(process.execPath, [join(modules, 'typescript/bin/tsc'), '-p', folder])
    return ''
  } catch (error) {
    const { stdout } = error as { stdout?: unknown }
    if (stdout === undefined) throw error
    // Apps compile against declarations; here it is the sources, whose own casts a registration may upset.
    return String(stdout)
      .split('\n')
      .filter((line) => line.includes('app.ts('))
      .join('\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
}
