/** Snapshots in a table of your own, beside the log and never instead of it. */
import { DatabaseSync } from 'node:sqlite'
import { type BuiltinScope, createRuntime, createScope, defineAgent, memoryStore, type Persistence } from 'perdure'
import { scriptedModel } from 'perdure/testing'

const database = new DatabaseSync(':memory:')
database.exec(`CREATE TABLE chats (
  org TEXT, conversation TEXT, agent TEXT, state TEXT NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (org, conversation, agent)
)`)

/**
 * The scope comes first, so that every statement is limited to its own organisation; it is never a part of the state.
 */
const persistence: Persistence = {
  persistState(scope, state, { agentId, conversationId, lifecycle }) {
    const save = database.prepare('INSERT OR REPLACE INTO chats VALUES (?, ?, ?, ?, ?)')
    save.run(orgOf(scope), conversationId ?? '', agentId, JSON.stringify(state), lifecycle)
  },
  loadState(scope, { agentId, conversationId }) {
    const find = database.prepare('SELECT state FROM chats WHERE org = ? AND conversation = ? AND agent = ?')
    const row = find.get(orgOf(scope), conversationId ?? '', agentId)
    // A missing snapshot and another organisation's snapshot return the same null.
    return row ? JSON.parse(String(row['state'])) : null
  },
}

function orgOf(scope: BuiltinScope | null): string {
  return scope?.tenant ?? 'none'
}

const model = scriptedModel(({ prompt }) =>
  JSON.stringify(prompt).includes('I like tea') ? 'You like tea.' : 'I do not know you yet.',
)
const helper = defineAgent({ name: 'helper', model })

/** Talks in a new runtime, whose log is gone when it ends. Only the table remains. */
async function talk(org: string, text: string): Promise<string> {
  const runtime = createRuntime({ agents: [helper], store: memoryStore(), persistence })
  const chat = runtime.as(createScope({ user: 'ann', tenant: org })).conversation('chat-1', { agent: 'helper' })
  const outcome = await (await chat.send(text)).outcome()
  await runtime.close()
  return outcome.status === 'completed' ? outcome.text : outcome.status
}

await talk('acme', 'I like tea.')
console.log('acme: ', await talk('acme', 'What do I like?'))
console.log('other:', await talk('other', 'What do I like?'))
for (const row of database.prepare('SELECT org, agent, reason FROM chats ORDER BY org').all()) {
  console.log(`kept for ${row['org']}: ${row['agent']}, ${row['reason']}`)
}
