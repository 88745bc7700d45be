import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import config from '../../rolldown.config.ts'

const root = join(import.meta.dirname, '..', '..')
const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly bin: { readonly perdure: string }
}
const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]))

/** In the project, so that its dependencies are found. */
let built: string

beforeAll(async () => {
  mkdirSync(join(root, '.tmp'), { recursive: true })
  built = mkdtempSync(join(root, '.tmp', 'built-'))
  await build({ ...config, output: { ...config.output, dir: built } })
}, 60_000)

afterAll(() => rmSync(built, { recursive: true }))

const fileOf = (entry: string): string => join(built, entry.replace(/^(\.\/)?dist\//, ''))
const sourceOf = (entry: string): string => join(root, entry.replace('dist/', 'src/').replace(/\.js$/, '.ts'))

test('each entry offers what its source offers', async () => {
  const names = (file: (entry: string) => string) => `
    const names = {}
    for (const [entry, file] of ${JSON.stringify(entries.map((entry) => [entry, file(entry)]))})
      names[entry] = Object.keys(await import(file)).sort()
    console.log(JSON.stringify(names))`
  const [fromBuild, fromSource] = await Promise.all([run(names(fileOf)), run(names(sourceOf))])
  expect(JSON.parse(fromBuild)).toEqual(JSON.parse(fromSource))
}, 60_000)

test('a class is the same one through every entry that offers it', async () => {
  const program = `
    const modules = await Promise.all(${JSON.stringify(entries.map(fileOf))}.map((file) => import(file)))
    const classes = new Map()
    const several = []
    for (const module of modules)
      for (const [name, value] of Object.entries(module))
        if (typeof value === 'function') {
          if ((classes.get(name) ?? value) !== value) several.push(name)
          classes.set(name, value)
        }
    console.log(JSON.stringify(several))`
  expect(JSON.parse(await run(program))).toEqual([])
}, 60_000)

test('importing perdure and perdure/sqlite loads a handful of files, and nothing of servers, clients, other stores or the command line', () => {
  const { files, packages } = reached('./dist/index.js', './dist/store/sqlite/index.js')
  expect(files).toEqual([
    'chunks/errors.js',
    'chunks/log.js',
    'chunks/runtime.js',
    'chunks/sqlite.js',
    'chunks/store.js',
    'chunks/web.js',
    'index.js',
    'store/sqlite/index.js',
  ])
  expect(packages.filter((name) => !name.startsWith('node:'))).toEqual([])
})

test('the client needs neither Node nor anything else but its parser', () => {
  expect(reached('./dist/client/index.js').packages).toEqual(['eventsource-parser'])
})

test('the hooks need nothing but React', () => {
  expect(reached('./dist/react/index.js').packages).toEqual(['react'])
})

test('sessions of OpenAI Agents need nothing that is not a part of Node', () => {
  expect(reached('./dist/openai-agents/index.js').packages.filter((name) => !name.startsWith('node:'))).toEqual([])
})

test('the command loads nothing before it has looked at the version of Node', () => {
  expect(reached(bin.perdure)).toEqual({ files: ['cli/main.js'], packages: [] })
})

test('no file has characters that make V8 keep it at twice the size', () => {
  const { files } = reached('./dist/index.js', './dist/store/sqlite/index.js')
  const wide = files.filter((file) => /[^\0-\x7f]/.test(readFileSync(join(built, file), 'utf8')))
  expect(wide).toEqual([])
})

test('the stack of an error names the sources through the maps', async () => {
  const program = `
    const { createRuntime } = await import(${JSON.stringify(fileOf('./dist/index.js'))})
    try { createRuntime({ agents: 7 }) } catch (error) { console.log(error.stack) }`
  const stack = await run(program, '--enable-source-maps')
  expect(stack).toMatch(/at .*src\/runtime\/create-runtime\.ts:\d+/)
  expect(stack).not.toContain('chunks/')
})

test('a project that the built command makes installs it from where it came from itself', async () => {
  const place = mkdtempSync(join(root, '.tmp', 'installed-'))
  try {
    const modules = join(place, 'node_modules')
    const dist = join(modules, 'perdure', 'dist')
    cpSync(built, dist, { recursive: true })
    writeFileSync(join(modules, 'perdure', 'package.json'), '{ "type": "module" }')
    writeFileSync(join(place, 'perdure.tgz'), '')
    const packages = { 'node_modules/perdure': { resolved: 'file:perdure.tgz' } }
    writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({ packages }))
    await promisify(execFile)(process.execPath, [join(dist, 'cli', 'main.js'), 'init', join(place, 'project')])
    const { dependencies } = JSON.parse(readFileSync(join(place, 'project', 'package.json'), 'utf8'))
    expect(dependencies.perdure).toBe(`file:${join(place, 'perdure.tgz')}`)
  } finally {
    rmSync(place, { recursive: true })
  }
}, 60_000)

async function run(program: string, ...flags: string[]): Promise<string> {
  const args = ['--disable-warning=ExperimentalWarning', ...flags, '--input-type=module', '--eval', program]
  return (await promisify(execFile)(process.execPath, args, { cwd: root })).stdout
}

/** What is loaded with these entries: files of the build, and what comes from outside. */
function reached(...from: string[]): { readonly files: string[]; readonly packages: string[] } {
  const files = new Set(from.map(fileOf))
  const packages = new Set<string>()
  for (const file of files) {
    const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export)\b[^;'"]*?(?:from )?"([^"]+)"/gm)
    for (const [, specifier] of imports) {
      if (specifier!.startsWith('.')) files.add(join(dirname(file), specifier!))
      else packages.add(specifier!)
    }
  }
  return { files: [...files].map((file) => relative(built, file)).sort(), packages: [...packages].sort() }
}

test('the built server finds the studio beside it, and says so when it is not there', async () => {
  const program = `
    import { mkdirSync, writeFileSync } from 'node:fs'
    const { createHandler } = await import(${JSON.stringify(fileOf('./dist/server/index.js'))})
    const open = () => createHandler({ as() {} }, { studio: true, authenticate: () => null })
    let missing = null
    try { open() } catch (error) { missing = error.code }
    mkdirSync(${JSON.stringify(join(built, 'studio'))})
    writeFileSync(${JSON.stringify(join(built, 'studio', 'index.html'))}, '<base href="/"><title>Built</title>')
    const page = await open()(new Request('http://localhost/studio/inbox'))
    console.log(JSON.stringify([missing, page.status, await page.text()]))`
  expect(JSON.parse(await run(program))).toEqual(['studio_not_built', 200, '<base href="./"><title>Built</title>'])
}, 60_000)
