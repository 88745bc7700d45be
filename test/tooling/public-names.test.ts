import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as config from '../../src/cli/config.ts'
import * as client from '../../src/client/index.ts'
import * as errors from '../../src/errors.ts'
import * as extensions from '../../src/extensions/index.ts'
import * as root from '../../src/index.ts'
import * as log from '../../src/log.ts'
import * as mcp from '../../src/mcp/index.ts'
import * as openaiAgents from '../../src/openai-agents/index.ts'
import * as react from '../../src/react/index.ts'
import * as server from '../../src/server/index.ts'
import * as postgres from '../../src/store/postgres/index.ts'
import * as sqlite from '../../src/store/sqlite/index.ts'
import * as telemetry from '../../src/telemetry/index.ts'
import * as testing from '../../src/testing/index.ts'
import * as upkeep from '../../src/upkeep/index.ts'

/** What programs outside rely on: adding is fine, renaming is not. */
test.each([
  ['perdure', ['createRuntime', 'defineAgent', 'defineTool', 'fromAiSdkTools', 'memoryStore'], root],
  ['perdure', ['preHook', 'postHook', 'createHook', 'inject', 'shape', 'halt', 'regenerate', 'transformChunk'], root],
  ['perdure', ['createScope', 'systemScope', 'createTurn', 'PerdureError'], root],
  ['perdure/log', ['foldEvents', 'nextStep', 'settle', 'isRequest', 'requestKind', 'requestPayload'], log],
  ['perdure/errors', ['PerdureError', 'DeterminismError'], errors],
  ['perdure/server', ['createHandler', 'serve'], server],
  ['perdure/config', ['defineConfig'], config],
  ['perdure/client', ['createClient', 'projectView', 'PerdureError'], client],
  ['perdure/react', ['PerdureProvider', 'useClient', 'useConversation', 'useConversations', 'useInbox'], react],
  ['perdure/react', ['useSession', 'useSessions', 'useTotals', 'useModelCalls', 'useConnection', 'useDraft'], react],
  ['perdure', ['defineFlow', 'deriveAgent', 'defineExtension'], root],
  ['perdure', ['defineSubscriber', 'afterHook', 'webhook'], root],
  ['perdure/extensions', ['todos', 'askUser'], extensions],
  ['perdure/mcp', ['mcpTools', 'mcpHandler'], mcp],
  ['perdure/openai-agents', ['perdureSession'], openaiAgents],
  ['perdure/telemetry', ['telemetry', 'prometheus'], telemetry],
  ['perdure/upkeep', ['exportStore', 'importStore', 'examineStore', 'migrateStore', 'collectGarbage'], upkeep],
  ['perdure/testing', ['testStore', 'scriptedModel', 'fakeClock', 'untilState', 'expectStablePrefix'], testing],
])('%s offers %j', (_, names, module) => {
  expect(names.filter((name) => !(name in module))).toEqual([])
})

test('the front door has at most 34 values', () => {
  expect(Object.keys(root).length).toBeLessThanOrEqual(34)
})

test('each durable store is offered by its own entry', () => {
  expect(Object.keys(sqlite)).toEqual(['sqliteStore'])
  expect(Object.keys(postgres)).toEqual(['postgresStore'])
})

test('every subpath of the package has its source', () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  const entries = Object.values<string | { default: string }>(exports)
  const sources = entries.flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]))
  for (const built of sources) {
    const source = built.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    expect(readFileSync(source, 'utf8')).toContain('export ')
  }
})
