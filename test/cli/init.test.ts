import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageVersion } from '../../src/base/errors/perdure-error.ts'
import { perdure, perdureJson, repository } from './perdure.ts'

const run = promisify(execFile)
let folder: string
let project: string

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-init-')))
  project = join(folder, 'My Agents')
  writeFileSync(join(folder, 'perdure.tgz'), '')
  await perdure(['init', 'My Agents', '--perdure', './perdure.tgz'], { cwd: folder })
  installFromSource(project)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('init makes a project that installs the package it was told, and never overwrites', async () => {
  const made = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  expect(made).toMatchObject({ name: 'my-agents', dependencies: { perdure: `file:${join(folder, 'perdure.tgz')}` } })
  writeFileSync(
    join(project, 'perdure.config.ts'),
    `${readFileSync(join(project, 'perdure.config.ts'), 'utf8')}// mine\n`,
  )
  const again = await perdure(['init'], { cwd: project })
  expect(again).toMatchObject({ code: 2, stdout: '' })
  expect(again.stderr).toContain('There is perdure.config.ts, agents/support.ts in')
  expect(readFileSync(join(project, 'perdure.config.ts'), 'utf8')).toContain('// mine')
})

test('without being told, it installs this version; what is not there is refused', async () => {
  const { value } = await perdureJson(['init', join(folder, 'other')])
  expect(value.next).toContain('npm install')
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'other', 'package.json'), 'utf8'))
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(dependencies.perdure).toBe(`^${version}`)
  expect(await perdure(['init', join(folder, 'third'), '--perdure', './nothing.tgz'])).toMatchObject({ code: 2 })
})

test.each([
  ['module', 'ts'],
  ['commonjs', 'mts'],
])('in a project of type %s it adds an agent and a config, and leaves the rest alone', async (type, ending) => {
  const existing = join(folder, `it is ${type}`)
  const packageJson = JSON.stringify({ name: 'shop', type, dependencies: { left: '1' } })
  mkdirSync(existing)
  writeFileSync(join(existing, 'package.json'), packageJson)
  const { stdout, stderr, code } = await perdure(['init', `it is ${type}`], { cwd: folder })
  expect(code).toBe(0)
  expect(readdirSync(existing).toSorted()).toEqual(['agents', 'package.json', `perdure.config.${ending}`])
  expect(readFileSync(join(existing, 'package.json'), 'utf8')).toBe(packageJson)
  expect(stdout).toContain(`cd 'it is ${type}'\n`)
  expect(stdout).toMatch(/npm install 'perdure@\^\S+' zod\n {2}npx perdure chat first --agent support/)
  expect(stderr).toContain('add that folder to .gitignore')
  installFromSource(existing)
  const asked = await perdure(['chat', 'first', '--agent', 'support'], { cwd: existing, stdin: 'Hi\n' })
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('Ask me for your money back.') })
  const explained = await perdure(['explain', 'first'], { cwd: existing })
  expect(explained).toMatchObject({ code: 0, stdout: expect.stringMatching(/user_msg +verbatim/) })
})

test.each([
  [{ dependencies: { perdure: 'file:../perdure.tgz' }, devDependencies: { zod: '4' } }, [], 'npm install'],
  [{ dependencies: { zod: '4' } }, [], `npm install 'perdure@^${packageVersion}'`],
  [{ dependencies: { perdure: '^0.1.0' } }, [], 'npm install zod'],
  [{ dependencies: { perdure: '^0.1.0', zod: '4' } }, ['--perdure', 'next'], 'npm install perdure@next'],
])('in a project with %j and %j the command it prints installs what is not listed', async (listed, args, printed) => {
  const existing = mkdtempSync(join(folder, 'listed-'))
  writeFileSync(join(existing, 'package.json'), JSON.stringify({ name: 'shop', ...listed }))
  const { value } = await perdureJson(['init', ...args], { cwd: existing })
  expect(value.next).toEqual([printed, 'npx perdure chat first --agent support'])
})

test('a package.json that cannot be read is named, and nothing is written', async () => {
  const broken = join(folder, 'broken')
  mkdirSync(broken)
  writeFileSync(join(broken, 'package.json'), '{')
  const { code, stderr } = await perdure(['init'], { cwd: broken })
  expect(code).toBe(2)
  expect(stderr).toContain(`'${join(broken, 'package.json')}' cannot be read`)
  expect(readdirSync(broken)).toEqual(['package.json'])
})

test('the agent of a new project asks for approval, and goes on when it has it', async () => {
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  const start = scripts.start.split(' ').slice(1)
  const asked = await perdure(start, { cwd: project, stdin: 'I want my money back\n' })
  expect(asked).toMatchObject({ code: 0 })
  expect(asked.stdout).toContain('refund needs approval: Refund 5.00 EUR for order o-17')
  const approved = await perdure(['approve', 'first'], { cwd: project })
  expect(approved).toMatchObject({ code: 0, stdout: 'Approved: refund.\n' })
  expect(approved.stderr).toContain('Saved. The turn continues when a process with the agent runs')
  const ended = await perdure(start, { cwd: project, stdin: 'Thank you\n' })
  expect(ended.stdout).toContain('Done: you have your 5 EUR back.')
})

test('a new project passes its type check', async () => {
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  writeFileSync(
    join(project, 'wrong.ts'),
    `import { support } from './agents/support.ts'\nexport const wrong: number = support.name\n`,
  )
  const { stdout }: { stdout: string } = await run(process.execPath, [tsc, '-p', '.'], { cwd: project }).catch(
    (error) => error,
  )
  // The source of the package is checked along, by rules that are not its own; as a package it has declarations instead.
  const own = stdout.split('\n').filter((line) => line !== '' && !/^(\.\.|\s)/.test(line))
  expect(own).toEqual([`wrong.ts(2,14): error TS2322: Type 'string' is not assignable to type 'number'.`])
})

/** What npm would do with the built package, with the source in its place. */
function installFromSource(project: string): void {
  const installed = join(project, 'node_modules', 'perdure')
  mkdirSync(join(project, 'node_modules', '@types'), { recursive: true })
  mkdirSync(installed)
  for (const name of ['zod', '@types/node']) {
    symlinkSync(join(repository, 'node_modules', name), join(project, 'node_modules', name))
  }
  symlinkSync(join(repository, 'src'), join(installed, 'src'))
  const { exports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const entries = Object.entries<{ default?: string }>(exports).filter(([, entry]) => entry.default)
  const sources = entries.map(([name, entry]) => [name, entry.default!.replace('dist', 'src').replace(/js$/, 'ts')])
  const content = { name: 'perdure', version: '0.1.0', type: 'module', exports: Object.fromEntries(sources) }
  writeFileSync(join(installed, 'package.json'), JSON.stringify(content))
}
