import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const cache = join(root, 'node_modules', '.cache', 'perdure-product')

/** npm's own files say where the registry is. */
const npm = (args: readonly string[], cwd: string) =>
  run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, maxBuffer: 10_000_000 })

/** Builds and packs this package, as it would be published. Returns the path of the tarball. */
export async function packPerdure(folder: string): Promise<string> {
  await npm(['run', 'build'], root)
  const { stdout } = await npm(['pack', '--silent', '--pack-destination', folder], root)
  return join(folder, stdout.trim().split('\n').at(-1)!)
}

/** The example app in a new folder, with the files of the tests, its dependencies and the packed package. */
export async function copyApp(tarball: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-product-'))
  const source = join(root, 'examples', 'next')
  await cp(source, folder, {
    recursive: true,
    filter: (path) => !/\/(node_modules|\.next)(\/|$)/.test(path.slice(source.length)),
  })
  await cp(join(import.meta.dirname, 'overlay'), folder, { recursive: true })
  await withDependencies(folder, tarball)
  return folder
}

/** Installs what the folder's `package.json` names, and the packed package. */
export async function withDependencies(folder: string, tarball: string): Promise<void> {
  await linkDependencies(folder)
  await npm(['install', '--prefer-offline', tarball], folder)
}

/** Installs what the app needs once for each `package.json`, and links the files into the folder. */
async function linkDependencies(folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  delete manifest.dependencies.perdure
  const text = JSON.stringify(manifest, null, 2)
  const installed = join(cache, createHash('sha256').update(text).digest('hex').slice(0, 16))
  if (!existsSync(installed)) {
    const draft = `${installed}.${process.pid}`
    await mkdir(draft, { recursive: true })
    await writeFile(join(draft, 'package.json'), text)
    await npm(['install'], draft)
    await rename(draft, installed)
  }
  await writeFile(join(folder, 'package.json'), text)
  await cp(join(installed, 'package-lock.json'), join(folder, 'package-lock.json'))
  // Linking 20,000 files takes a second, copying them takes ten.
  await run('cp', ['-al', join(installed, 'node_modules'), folder]).catch(() =>
    cp(join(installed, 'node_modules'), join(folder, 'node_modules'), { recursive: true, verbatimSymlinks: true }),
  )
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
