import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { packageVersion } from '../../base/errors/perdure-error.ts'
import { makeFolder } from '../../server/node/local-token.ts'
import { command, exitCodes } from '../command.ts'
import { installedFrom } from '../installed-from.ts'
import { unlessUnwritable } from '../output.ts'
import { safe } from '../terminal/text.ts'
import { quoted } from '../transcript/command-line.ts'

type ProjectOptions = {
  readonly name: string
  /** What npm installs as perdure: a version, or the path of a tarball. */
  readonly perdure: string
}

type Files = Readonly<Record<string, string>>

/** The files of a new project, by path: a small start that the user changes. */
function projectFiles(options: ProjectOptions): Files {
  return {
    'package.json': packageJson(options),
    'tsconfig.json': tsconfig,
    '.gitignore': 'node_modules/\n.perdure/\n',
    ...agentFiles('ts'),
    'README.md': readme(options),
  }
}

/** What a project that exists gets. In a CommonJS package, `.mts` files are modules. */
function agentFiles(ending: 'ts' | 'mts'): Files {
  return { [`perdure.config.${ending}`]: config(ending), [`agents/support.${ending}`]: agent }
}

function packageJson({ name, perdure }: ProjectOptions): string {
  const content = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: {
      start: 'perdure chat first --agent support',
      serve: 'perdure serve',
      inbox: 'perdure inbox',
      typecheck: 'tsc',
    },
    dependencies: { perdure, zod: '^4.0.0' },
    devDependencies: { '@types/node': '^24.0.0', typescript: '^5.9.0 || ^7.0.0' },
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "include": ["**/*.ts"]
}
`

function config(ending: string): string {
  return `import { defineConfig } from 'perdure/config'
import { support } from './agents/support.${ending}'

export default defineConfig({
  agents: [support],
  // A file, from this folder; or postgres://… after \`npm install pg\`.
  store: '.perdure/perdure.db',
  server: { port: 4111 },
})
`
}

const agent = `import { defineAgent, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  // The call waits until a person approves it, however long that takes: perdure approve <conversation>
  approval: 'required',
  // Shown to that person, wherever the call waits.
  describe: ({ orderId, cents }) => \`Refund \${(cents / 100).toFixed(2)} EUR for order \${orderId}\`,
  // callId stays the same if this runs again: pass it to the payment as its idempotency key.
  run: async ({ orderId, cents }, turn) => ({ orderId, cents, receipt: turn.callId }),
})

/**
 * A script in place of a model, so that no key is needed. For a real model:
 *
 *   npm install @ai-sdk/anthropic            and set ANTHROPIC_API_KEY
 *   import { anthropic } from '@ai-sdk/anthropic'
 *   const model = anthropic('claude-sonnet-4-5')
 *
 * Any language model of the AI SDK works here.
 */
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  if (last?.role === 'tool') {
    const wasPaid = JSON.stringify(last.content).includes('receipt')
    return wasPaid ? 'Done: you have your 5 EUR back.' : 'I was not allowed to pay that back.'
  }
  const asks = /refund|money|back/i.test(JSON.stringify(last?.content ?? ''))
  if (!asks) return 'Hello! Ask me for your money back.'
  return { text: 'Let me pay that back.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 500 } }] }
})

export const support = defineAgent({
  name: 'support',
  model,
  instructions: 'You help customers of a small shop. Be brief.',
  tools: [refund],
  // Keeps a row for each model call, for: perdure explain <conversation>
  audit: 'records',
})
`

function readme({ name }: ProjectOptions): string {
  return `# ${name}

A durable agent with [Perdure](https://www.npmjs.com/package/perdure). Node 22.18 or newer.

\`\`\`
npm install
npm start          # talk to the agent: ask for your money back
npm run serve      # the same over HTTP
npm run inbox      # the calls that wait for an answer
npx perdure --help
\`\`\`

Kill it whenever you like and start it again: the conversation continues where it was, and a call that waited still waits.

- \`perdure.config.ts\`: the agents, and where their conversations are kept
- \`agents/support.ts\`: an agent, its tool, and how to give it a real model
`
}

export const init = command({
  args: {
    folder: { type: 'positional', required: false, description: 'The folder; default: this one' },
    name: { type: 'string', description: "The package's name; default: the folder's name" },
    perdure: {
      type: 'string',
      valueHint: 'version|tarball',
      description: 'The package to install as perdure; default: what this one was installed from',
    },
  },
  about:
    'Creates an agent with a tool that needs approval, a config, and a model that needs no key. In a folder with a package.json it adds only the agent and the config. Never overwrites a file.',
  examples: [
    ['init my-agents', 'a new folder; then: cd my-agents && npm install && npm start'],
    ['init', 'in the project of this folder, if it has a package.json'],
    ['init --perdure ../perdure-0.2.0.tgz', 'here, with a package that is not on the registry'],
  ],
  async run({ args, output }) {
    const folder = resolve(args.folder ?? '.')
    const perdure = specOf(args.perdure)
    const existing = await existingPackage(folder)
    const files = existing
      ? agentFiles(existing['type'] === 'module' ? 'ts' : 'mts')
      : projectFiles({ name: packageName(args.name ?? basename(folder)), perdure })
    const taken = Object.keys(files).filter((file) => existsSync(join(folder, file)))
    if (taken.length > 0) {
      throw new CommandLineError(
        `There is ${taken.join(', ')} in '${folder}' already, and nothing is overwritten`,
        'init',
      )
    }
    await unlessUnwritable(folder, 'name another folder', async () => {
      for (const [file, content] of Object.entries(files)) {
        await makeFolder(dirname(join(folder, file)))
        await writeFile(join(folder, file), content, { flag: 'wx' })
      }
    })
    const place = relative('.', folder)
    const start = existing
      ? [installOf(existing, args.perdure === undefined ? null : perdure), 'npx perdure chat first --agent support']
      : ['npm install', 'npm start']
    const steps = [...(place === '' ? [] : [`cd ${quoted(place)}`]), ...start]
    output.result({ folder, files: Object.keys(files), next: steps }, () => [
      ...Object.keys(files).map((file) => safe`  ${output.colours.green('made')} ${join(place, file)}`),
      '',
      'Next:',
      ...steps.map((step) => safe`  ${output.colours.cyan(step)}`),
    ])
    if (existing) output.note('Conversations are kept in .perdure/: add that folder to .gitignore.')
    return exitCodes.ok
  },
})

/** Installs what the project does not list yet. `told`: the package that was named, which takes the place of a listed one. */
function installOf(
  { dependencies, devDependencies }: { readonly [key: string]: unknown },
  told: string | null,
): string {
  const listed = { ...Object(dependencies), ...Object(devDependencies) }
  const perdure = told ?? (Object.hasOwn(listed, 'perdure') ? null : ownSpec())
  const named = perdure?.startsWith('file:') ? perdure : `perdure@${perdure}`
  return [
    'npm install',
    ...(perdure === null ? [] : [quoted(named)]),
    ...(Object.hasOwn(listed, 'zod') ? [] : ['zod']),
  ].join(' ')
}

/** The package.json of a project that exists; null where there is none. */
async function existingPackage(folder: string): Promise<{ readonly [key: string]: unknown } | null> {
  const file = join(folder, 'package.json')
  if (!existsSync(file)) return null
  try {
    return Object(JSON.parse(await readFile(file, 'utf8')))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandLineError(`'${file}' cannot be read: ${why.replace(/[.\s]+$/, '')}`, 'init')
  }
}

/** A tarball that is on no registry is installed from its file again. */
function ownSpec(): string {
  return installedFrom(import.meta.dirname) ?? `^${packageVersion}`
}

/** A relative path is resolved here: in the new folder it would name another file. */
function specOf(given: string | undefined): string {
  if (given === undefined) return ownSpec()
  const path = given.replace(/^file:/, '')
  if (path === given && !/^[./~]|\.tgz$/.test(given)) return given
  if (!existsSync(path)) throw new CommandLineError(`--perdure is '${given}', and there is no such file`, 'init')
  return `file:${resolve(path)}`
}

/** A name that npm accepts. */
function packageName(name: string): string {
  const fitting = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-_.]+/g, '-')
    .replaceAll(/^[-._]+|[-._]+$/g, '')
  return fitting === '' ? 'my-agents' : fitting
}
