import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'rolldown'

const root = import.meta.dirname
const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}

/** A file of `dist` without its ending; its source has the same path in `src`. */
const entries = [
  ...Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default])),
  ...Object.values(bin),
  // Started as a process of its own.
  'dist/cli/demo/story-worker.js',
].map((file) => file.replace(/^(\.\/)?dist\/|\.js$/g, ''))

const sourceOf = (entry: string): string => join(root, 'src', `${entry}.ts`)

/** Each chunk has what its entries reach and no chunk before it has, so that an import loads a few files and every module exists once. */
const chunks: readonly { readonly name: string; readonly entry: string; readonly alsoReachedBy?: string }[] = [
  // What pages load as well; it must not need Node.
  { name: 'web', entry: 'client/index', alsoReachedBy: 'index' },
  { name: 'client', entry: 'client/index' },
  { name: 'errors', entry: 'errors' },
  { name: 'log', entry: 'log' },
  { name: 'store', entry: 'store' },
  { name: 'runtime', entry: 'index' },
  { name: 'extensions', entry: 'extensions/index' },
  { name: 'sqlite', entry: 'store/sqlite/index' },
  { name: 'postgres', entry: 'store/postgres/index' },
  { name: 'upkeep', entry: 'upkeep/index' },
  { name: 'server', entry: 'server/index' },
  { name: 'telemetry', entry: 'telemetry/index' },
  { name: 'mcp', entry: 'mcp/index' },
  { name: 'records', entry: 'langgraph/index', alsoReachedBy: 'openai-agents/index' },
  { name: 'langgraph', entry: 'langgraph/index' },
  { name: 'openai-agents', entry: 'openai-agents/index' },
]

type ModuleInfo = { readonly importedIds: readonly string[] } | null
const reached = new Map<string, ReadonlySet<string>>()

/** The modules that an entry imports, also through others; not what it imports on first use. */
function reachedBy(entry: string, moduleInfo: (id: string) => ModuleInfo): ReadonlySet<string> {
  const known = reached.get(entry)
  if (known) return known
  const found = new Set([sourceOf(entry)])
  for (const id of found) for (const imported of moduleInfo(id)?.importedIds ?? []) found.add(imported)
  reached.set(entry, found)
  return found
}

/** V8 keeps and scans a file with one character outside of Latin-1 at twice the size. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle))
      if (file.type === 'chunk') file.code = file.code.replaceAll(/[^\0-\x7f]/g, escaped)
  },
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

export default defineConfig({
  cwd: root,
  plugins: [asciiOnly],
  input: Object.fromEntries(entries.map((entry) => [entry, sourceOf(entry)])),
  platform: 'node',
  // Dependencies are the application's to install.
  external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  output: {
    dir: 'dist',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // The declarations have them.
    comments: { jsdoc: false },
    codeSplitting: {
      groups: chunks.map(({ name, entry, alsoReachedBy = entry }) => ({
        debugName: name,
        name: (id, context) => {
          const isReachedBy = (other: string): boolean => reachedBy(other, (of) => context.getModuleInfo(of)).has(id)
          return isReachedBy(entry) && isReachedBy(alsoReachedBy) ? name : null
        },
      })),
    },
  },
})
