export type ProjectOptions = {
  readonly name: string
  /** What npm installs as perdure: a version, or the path of a tarball. */
  readonly perdure: string
}

/** The files of a new project, by their paths: small, and all of it is meant to be changed. */
export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  return {
    'package.json': packageJson(options),
    'tsconfig.json': tsconfig,
    '.gitignore': 'node_modules/\n.perdure/\n',
    'perdure.config.ts': config,
    'agents/support.ts': agent,
    'README.md': readme(options),
  }
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
    dependencies: { hono: '^4.6.0', perdure, zod: '^4.0.0' },
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

const config = `import { defineConfig } from 'perdure/config'
import { support } from './agents/support.ts'

export default defineConfig({
  agents: [support],
  // A file, from this folder; or postgres://… after \`npm install pg\`.
  store: '.perdure/perdure.db',
  server: { port: 4111 },
})
`

const agent = `import { defineAgent, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  // Waits until somebody approves, however long that takes: perdure approve <conversation>
  approval: 'required',
  // callId stays the same if this runs again: pass it on as the idempotency key of the payment.
  run: async ({ orderId, cents }, turn) => ({ orderId, cents, receipt: turn.callId }),
})

/**
 * Plays the part of a model, so that nothing needs a key. For a real one:
 *
 *   npm install @ai-sdk/anthropic            and set ANTHROPIC_API_KEY
 *   import { anthropic } from '@ai-sdk/anthropic'
 *   const model = anthropic('claude-sonnet-4-5')
 *
 * Any language model of the AI SDK goes here.
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
})
`

function readme({ name }: ProjectOptions): string {
  return `# ${name}

A durable agent with [Perdure](https://www.npmjs.com/package/perdure). Node 22.18 or newer.

\`\`\`
npm install
npm start          # talk to the agent: ask for your money back
npm run serve      # the same over HTTP
npm run inbox      # what waits for somebody
npx perdure --help
\`\`\`

Kill it whenever you like and start it again: the conversation goes on where it was, and what waited still waits.

- \`perdure.config.ts\`: the agents, and where their conversations are kept
- \`agents/support.ts\`: an agent, its tool, and how to give it a real model
`
}
