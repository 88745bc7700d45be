import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

type Override = { includes: string[]; linter: { rules: { style: { noRestrictedImports?: unknown } } } }

const { vcs: _, ...config } = JSON.parse(readFileSync('biome.json', 'utf8'))

test('every folder of src has one level', () => {
  const levels = (config.overrides as Override[]).filter(({ linter }) => linter.rules.style.noRestrictedImports)
  const levelled = levels.flatMap((level) => level.includes).flatMap((glob) => /^src\/([^/]+)\//.exec(glob)?.[1] ?? [])
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(new Set(levelled).size).toBe(levelled.length)
  expect(folders.map((folder) => folder.name).filter((name) => !levelled.includes(name))).toEqual([])
})

test('the lint refuses an import that points upward, and no other', () => {
  const upward = {
    'src/log/a.ts': '../store/store.ts',
    'src/store/a.ts': '../turn/run-turn.ts',
    'src/turn/a.ts': '../runtime/worker.ts',
    'src/runtime/a.ts': '../stores/memory/memory-store.ts',
    'src/stores/memory/a.ts': '../../testing/index.ts',
    'src/testing/a.ts': '../../test/log/story.ts',
  }
  const downward = {
    'src/log/b.ts': '../errors/codes.ts',
    'src/store/b.ts': '../log/events.ts',
    'src/turn/b.ts': '../store/store.ts',
    'src/stores/memory/b.ts': '../../store/store.ts',
    'src/testing/b.ts': '../stores/memory/memory-store.ts',
    'src/log/b.test.ts': '../stores/memory/memory-store.ts',
  }
  expect(refused({ ...upward, ...downward })).toEqual(Object.keys(upward).toSorted())
})

/** Lints a tree of files that each import one thing, by our rules; returns those whose import was refused. */
function refused(files: Record<string, string>): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-lint-'))
  try {
    writeFileSync(join(directory, 'biome.json'), JSON.stringify(config))
    for (const [file, imported] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, file)), { recursive: true })
      writeFileSync(join(directory, file), `import { it } from '${imported}'\n\nexport const its = it\n`)
    }
    const biome = resolve('node_modules/.bin/biome')
    const options = ['lint', '--only=style/noRestrictedImports', '--reporter=json', '.']
    const { stdout } = spawnSync(process.execPath, [biome, ...options], { cwd: directory, encoding: 'utf8' })
    const report: { diagnostics: { location: { path: string } }[] } = JSON.parse(stdout)
    return report.diagnostics.map((diagnostic) => diagnostic.location.path).toSorted()
  } finally {
    rmSync(directory, { recursive: true })
  }
}
