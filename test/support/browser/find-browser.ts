import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const modules = join(import.meta.dirname, '..', '..', '..', 'node_modules')

/** The browser that npm installed, or one on this machine. */
export type FoundBrowser = 'npm' | { readonly path: string }

/** A browser that can be started. `env` is added to the environment of its process. */
export type BrowserProgram = { readonly path: string; readonly env: Readonly<Record<string, string>> }

type Place = {
  readonly platform: string
  readonly arch: string
  readonly env: Readonly<Record<string, string | undefined>>
}

const systemBrowsers: Readonly<Record<string, readonly string[]>> = {
  linux: ['/usr/bin/google-chrome', '/usr/bin/google-chrome-stable', '/usr/bin/chromium', '/usr/bin/chromium-browser'],
  darwin: ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
  win32: ['C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe'],
}

/**
 * The browser of `PERDURE_BROWSER`; else the one that npm installed, which is for Linux on x64 alone; else a Chrome of the system. Null where there is none.
 * Throws when `PERDURE_BROWSER` names no file: a typing error must not skip tests.
 */
export function whichBrowser(place: Place = { ...process, env: process.env }): FoundBrowser | null {
  const given = place.env['PERDURE_BROWSER']
  if (given) {
    if (!existsSync(given)) throw new Error(`PERDURE_BROWSER names '${given}', where there is no file.`)
    return { path: given }
  }
  if (place.platform === 'linux' && place.arch === 'x64') return 'npm'
  const path = systemBrowsers[place.platform]?.find((candidate) => existsSync(candidate))
  return path ? { path } : null
}

/** Unpacks the browser that npm installed, once for all processes. Takes about two seconds the first time. */
export async function browserProgram(found: FoundBrowser): Promise<BrowserProgram> {
  if (found !== 'npm') return { path: found.path, env: {} }
  const { version } = JSON.parse(await readFile(join(modules, '@sparticuz', 'chromium', 'package.json'), 'utf8'))
  const folder = join(modules, '.cache', 'perdure-browser', version)
  if (!existsSync(folder)) await unpackInto(folder)
  return {
    path: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), FONTCONFIG_FILE: join(folder, 'fonts.conf') },
  }
}

/** Two processes may unpack at once. Each has its own draft, and one of the two stays. */
async function unpackInto(folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}.${Date.now()}`
  await mkdir(draft, { recursive: true })
  try {
    const program = fileURLToPath(new URL('unpack-chromium.ts', import.meta.url))
    await run(process.execPath, [program], { env: { ...process.env, TMPDIR: draft } })
    await writeFile(join(draft, 'fonts.conf'), fontsConfig(folder))
    await rename(draft, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The configuration in the package names a folder that does not exist, and all text would be blank. No other fonts, so that pages look alike on all machines. */
function fontsConfig(folder: string): string {
  return `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'fonts-cache')}</cachedir></fontconfig>
`
}
