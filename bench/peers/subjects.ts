/** Who is measured. The first three are the measure of the others: each is compared with Perdure on the same kind of store. */
export type PeerSubject = {
  readonly id: string
  readonly label: string
  readonly store: 'memory' | 'sqlite' | 'postgres' | 'file'
  /** A file in `app/subjects`, and what it opens. */
  readonly module: string
  readonly kind: string
  /** What an application imports for it. */
  readonly imports: readonly string[]
  /** False: it keeps nothing between processes, or has no approvals. */
  readonly suspends: boolean
}

const langgraph = ['@langchain/core/messages', '@langchain/langgraph']
const mastra = ['@mastra/core/mastra', '@mastra/core/agent', '@mastra/core/tools', '@mastra/memory']

export const peerSubjects: readonly PeerSubject[] = [
  subject('perdure-memory', 'Perdure', 'memory', 'perdure', 'memory', ['perdure'], false),
  subject('perdure-sqlite', 'Perdure', 'sqlite', 'perdure', 'sqlite', ['perdure', 'perdure/sqlite']),
  subject('perdure-postgres', 'Perdure', 'postgres', 'perdure', 'postgres', ['perdure', 'perdure/postgres', 'pg']),
  subject('langgraph-sqlite', 'LangGraph', 'sqlite', 'langgraph', 'sqlite', [
    ...langgraph,
    '@langchain/langgraph-checkpoint-sqlite',
  ]),
  subject('langgraph-sqlite-delta', 'LangGraph, delta channel', 'sqlite', 'langgraph', 'sqlite-delta', [
    ...langgraph,
    '@langchain/langgraph-checkpoint-sqlite',
  ]),
  subject('langgraph-perdure', 'LangGraph, PerdureSaver', 'sqlite', 'langgraph', 'perdure', [
    ...langgraph,
    'perdure/langgraph',
    'perdure/sqlite',
  ]),
  subject('langgraph-postgres', 'LangGraph', 'postgres', 'langgraph', 'postgres', [
    ...langgraph,
    '@langchain/langgraph-checkpoint-postgres',
  ]),
  subject('mastra-sqlite', 'Mastra', 'sqlite', 'mastra', 'sqlite', [...mastra, '@mastra/libsql']),
  subject('mastra-postgres', 'Mastra', 'postgres', 'mastra', 'postgres', [...mastra, '@mastra/pg']),
  subject('dbos-postgres', 'DBOS', 'postgres', 'dbos', 'postgres', ['@dbos-inc/dbos-sdk']),
  subject('openai-agents-file', 'OpenAI Agents', 'file', 'openai-agents', 'file', ['@openai/agents-core']),
  subject('ai-sdk', 'AI SDK, keeps nothing', 'memory', 'ai-sdk', 'memory', ['ai'], false),
  subject('raw-sqlite', 'node:sqlite alone', 'sqlite', 'raw', 'sqlite', ['node:sqlite'], false),
  subject('raw-postgres', 'pg alone', 'postgres', 'raw', 'postgres', ['pg'], false),
]

function subject(
  id: string,
  label: string,
  store: PeerSubject['store'],
  module: string,
  kind: string,
  imports: readonly string[],
  suspends = true,
): PeerSubject {
  return { id, label, store, module, kind, imports, suspends }
}
