import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ConfigError } from '../base/errors/cli-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import { sessionAgent } from '../define/define-flow.ts'
import { agentsByName, runtimeOptionNames } from '../runtime/runtime-options.ts'
import type { Config } from './config.ts'

/** A config, with the file it came from. */
export type LoadedConfig = { readonly file: string; readonly config: Config }

const names = ['perdure.config.ts', 'perdure.config.mts', 'perdure.config.js', 'perdure.config.mjs']

/** The nearest config in a folder or above it; null when there is none. */
export function findConfig(from: string): string | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const found = names.map((name) => join(folder, name)).find((file) => existsSync(file))
    if (found) return found
    if (dirname(folder) === folder) return null
  }
}

/** Throws `ConfigError` when the file cannot be loaded or is not a config. */
export async function loadConfig(
  path: string,
  runsTypeScript = Boolean(process.features.typescript),
): Promise<LoadedConfig> {
  const file = resolve(path)
  if (!existsSync(file)) throw new ConfigError(file, 'does not exist', 'Check the path')
  if (/\.m?ts$/.test(file) && !runsTypeScript) {
    throw new ConfigError(
      file,
      `is TypeScript, which Node ${process.versions.node} does not run`,
      'Use Node 22.18 or newer, or rename it to perdure.config.js',
    )
  }
  const config = (await imported(file))['default']
  const problem = problemOf(config)
  if (problem) throw new ConfigError(file, problem, 'Make defineConfig({ agents, store }) its default export')
  return { file, config: config as Config }
}

/** Imports the config in its own folder, so that its relative paths do not depend on where the command runs. */
async function imported(file: string): Promise<Record<string, unknown>> {
  const folder = process.cwd()
  process.chdir(dirname(file))
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    const why = (cause instanceof Error ? cause.message : String(cause)).replace(/[.\s]+$/, '')
    const place = placeOf(cause) ?? (cause instanceof SyntaxError ? placeInProcess(file) : null)
    const where = place === null ? '' : ` (${place})`
    throw new ConfigError(file, `throws when it is loaded: ${why}${where}`, 'Correct it', { cause })
  } finally {
    process.chdir(folder)
  }
}

/** This package: its own frames are not where a config is wrong. */
const ownFolder = resolve(import.meta.dirname, '..', '..')

/** The file and line that an error of a config came from; null when its stack does not say. */
function placeOf(error: unknown): string | null {
  const lines = error instanceof Error && typeof error.stack === 'string' ? error.stack.split('\n') : []
  const places = lines.flatMap((line, index) => {
    // A syntax error has its place before the message, other errors have it in their frames.
    const found = /(?:^|[\s(])((?:file:\/\/)?\/[^()]*?):(\d+)(?::\d+)?\)?$/.exec(line)
    if (!found || (index > 0 && !line.trimStart().startsWith('at '))) return []
    const [, address = '', number = ''] = found
    return [{ path: address.startsWith('file:') ? fileURLToPath(address) : address, number }]
  })
  const own = places.find(({ path }) => !path.includes('/node_modules/') && !path.startsWith(`${ownFolder}/`))
  return own ? `${own.path}:${own.number}` : null
}

/**
 * Where a module cannot be read or linked, Node tells the place only when it ends a process. Nothing of the config runs there: it fails before its first
 * statement, as it did here.
 */
function placeInProcess(file: string): string | null {
  const code = `import ${JSON.stringify(pathToFileURL(file).href)}`
  const args = ['--input-type=module', '--eval', code]
  const { stderr } = spawnSync(process.execPath, args, { cwd: dirname(file), encoding: 'utf8', timeout: 10_000 })
  const found = /^(file:\/\/\S+):(\d+)$/m.exec(stderr ?? '')
  return found ? `${fileURLToPath(found[1]!)}:${found[2]}` : null
}

/** The keys of a config: a misspelt one is an error. `work` is the command's decision. */
const known = [...runtimeOptionNames.filter((name) => name !== 'work'), 'server']

function problemOf(config: unknown): string | null {
  if (config === undefined) return 'has no default export'
  if (typeof config !== 'object' || config === null) return 'has a default export that is not an object'
  const [unknown] = unknownKeys(config, known)
  if (unknown) return `has an ${unknown}`
  const { agents, flows = [], store } = Object(config) as { [key: string]: unknown }
  if (!Array.isArray(agents)) return "has no list 'agents'"
  if (!Array.isArray(flows)) return "has 'flows' that is not a list"
  const isStore = typeof store === 'string' ? store !== '' : typeof Object(store).forTenant === 'function'
  return isStore ? null : "has no 'store'"
}

/** The names of the agents and flows that a config has code for, as the store has them. Includes agents that only tools start. */
export function agentNames({ agents, flows = [] }: Pick<Config, 'agents' | 'flows'>): string[] {
  return [...agentsByName(agents).keys(), ...flows.map(({ name }) => sessionAgent(name))]
}
